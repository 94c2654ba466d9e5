"""The page of the discard bin, and how an operator brings a message back."""

from __future__ import annotations

import re

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from broker.errors.mq_codes import Report
from broker.models import Act, Authority, Discarded, Message, Queue
from broker.monitoring import fsck
from broker.queueing.put import put_many
from console.dead_letters.pages import discards
from tests.broker.dying import on
from tests.console.conftest import SignIn
from tests.console.letters import attempt
from tests.console.messages.test_messages import EVIL, page, words
from tests.console.poison import make_payments, poison, remove
from tests.console.recorded import deeds
from tests.make import (
    make_authority,
    make_messages,
    make_queue,
    make_setting,
    make_user,
)

pytestmark = pytest.mark.django_db

BIN = reverse("console:discards")
RESTORE = reverse("console:restore")


def throw_away(count: int = 1, *, queue: str = "lossy") -> list[int]:
    """Messages that are discarded now; their numbers."""
    if not Queue.objects.filter(name=queue).exists():
        make_queue(queue)
        make_setting(queue, max_delivery_attempts=1)
    put_many(make_messages(count, queue))
    return attempt("ValueError: no", queue=queue, now=timezone.now(), limit=count)


def item(message_id: int) -> str:
    return f"{message_id}.{Discarded.objects.get(message_id=message_id).queue_id}"


def shown(client: Client, **query: str) -> str:
    answer = client.get(BIN, query)
    assert answer.status_code == 200
    return answer.content.decode()


def confirm(client: Client, *message_ids: int, reason: str = "") -> str:
    """Order it, and read what the next page says."""
    items = [item(one) for one in message_ids]
    fields = {"item": items, "reason": reason}
    return words(client.post(RESTORE, fields, follow=True).content.decode())


def test_an_empty_bin_says_what_it_is_for(sign_in: SignIn) -> None:
    said = words(shown(sign_in("viewer")))

    assert "The discard bin is empty." in said
    assert "It stays for seven days" in said


@pytest.mark.spec("POISON-7", "UNIFY-5")
def test_the_bin_says_what_whence_why_and_until_when(sign_in: SignIn) -> None:
    throw_away()
    make_payments("")
    poison(timezone.now(), descriptor={"report": int(Report.DISCARD_MSG)})
    remove("", now=timezone.now())
    by_rule, by_broker = Discarded.objects.order_by("-message_id")

    html = shown(sign_in("operator"))

    said = words(html)
    assert f'href="{reverse("console:message", args=[by_rule.message_id])}"' in html
    assert "Its report options ask for it. 2362 BACKOUT_THRESHOLD_REACHED" in said
    assert "backed out 3 times" in said
    assert "No dead letter address is set backed out 1 time" in said
    assert f"{by_broker.keep_until:%Y-%m-%d}" in said
    assert said.index("payments") < said.rindex("lossy")


def test_a_message_is_restored_after_a_look(sign_in: SignIn) -> None:
    (message_id,) = throw_away()
    client = sign_in("operator")
    assert f"{RESTORE}?item={item(message_id)}" in shown(client)

    asked = words(client.get(RESTORE, {"item": item(message_id)}).content.decode())
    assert "Restore 1 message" in asked
    assert "It goes back as the same message, at the head of the queue" in asked
    assert Discarded.objects.exists()

    said = confirm(client, message_id, reason="row 7 is mended")

    assert "1 message is back on the queue, at the head." in said
    assert on("lossy") == [message_id]
    (deed,) = deeds()
    assert (deed.act, deed.object_name) == (Act.RESTORE, "lossy")
    assert (deed.details["ids"], deed.reason) == ([message_id], "row 7 is mended")
    told = words(page(client, message_id))
    assert "Restored to lossy from the discard bin: row 7 is mended" in told
    assert "by operator" in told
    assert fsck.violations() == []


def test_several_are_restored_and_what_cannot_be_says_why(sign_in: SignIn) -> None:
    first, second, third = throw_away(3)
    Queue.objects.update(max_depth=2)

    said = confirm(sign_in("operator"), third, second, first)

    assert "2 messages are back on the queue, at the head." in said
    assert "Queue 'lossy' is full" in said
    assert on("lossy") == [first, second]
    (deed,) = deeds()
    assert deed.details == {"messages": 2, "ids": [first, second]}


def test_what_is_gone_meanwhile_is_said(sign_in: SignIn) -> None:
    (message_id,) = throw_away()
    wanted = item(message_id)
    client = sign_in("operator")
    confirm(client, message_id)

    asked = words(client.get(RESTORE, {"item": wanted}).content.decode())
    done = client.post(RESTORE, {"item": wanted}, follow=True).content.decode()

    assert "The messages that you chose are no longer in the discard bin." in asked
    assert f"The discard bin does not have message {message_id}" in words(done)
    assert "You chose no message." in words(client.get(RESTORE).content.decode())


def test_what_cannot_be_restored_says_so_and_has_no_button(sign_in: SignIn) -> None:
    (expired,) = throw_away()
    (orphan,) = throw_away(queue="short-lived")
    Discarded.objects.filter(message_id=expired).update(expires_at=timezone.now())
    Queue.objects.filter(name="short-lived").delete()

    html = shown(sign_in("operator"))

    assert "Its time to live is over." in words(html)
    assert "Its queue is gone." in words(html)
    assert 'name="item"' not in html
    assert "?item=" not in html
    assert orphan


def test_a_viewer_sees_the_bin_and_restores_nothing(sign_in: SignIn) -> None:
    (message_id,) = throw_away()
    client = sign_in("viewer")

    html = shown(client)

    assert "Users with the role operator may restore messages." in words(html)
    assert RESTORE not in re.sub(r'action="[^"]*"', "", html)
    assert client.get(RESTORE).status_code == 403
    assert client.post(RESTORE, {"item": item(message_id)}).status_code == 403
    assert Discarded.objects.exists()


def test_who_may_not_put_on_a_queue_restores_nothing_to_it(sign_in: SignIn) -> None:
    (message_id,) = throw_away()
    client = sign_in("operator")
    Authority.objects.update(may_put=False)

    html = shown(client)
    said = confirm(client, message_id)

    assert "You may not put there." in words(html)
    assert "?item=" not in html
    assert "operator lacks the authority 'put' on queue 'lossy'" in said
    assert Discarded.objects.exists()
    assert deeds() == []


def test_one_sees_of_the_bin_what_was_on_queues_that_one_may_see(
    client: Client,
) -> None:
    throw_away()
    (seen,) = throw_away(queue="mine")
    user = make_user(permissions=("broker.view_queue",), granted=())
    make_authority(user, "inquire", pattern="mine")
    client.force_login(user)

    html = shown(client)

    assert "mine" in words(html)
    assert "lossy" not in words(html)
    assert html.count("<tr data-row>") == 1
    assert str(seen) in html


def test_the_bin_is_filtered(sign_in: SignIn) -> None:
    throw_away()
    throw_away(2, queue="other")
    Discarded.objects.filter(queue="other").update(reason=2363)
    client = sign_in("operator")

    assert shown(client, queue="other").count("<tr data-row>") == 2
    assert shown(client, reason="2363").count("<tr data-row>") == 2
    assert shown(client, reason="0").count("<tr data-row>") == 1
    assert "Nothing in the bin matches." in shown(client, queue="lossy", reason="2363")
    assert "2363 MSG_NOT_MATCHED (2)" in words(shown(client))
    assert "no reason code (1)" in words(shown(client))


def test_pages_go_on_and_back(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discards, "PAGE", 2)
    ids = throw_away(5)
    client = sign_in("operator")

    found, url = [], BIN
    while url:
        html = client.get(url).content.decode()
        found += re.findall(r"<tr data-row>.*?messages/(\d+)/", html, re.S)
        onward = re.search(r'href="([^"]+)" rel="next"', html)
        url = BIN + onward[1].replace("&amp;", "&").replace(BIN, "") if onward else ""

    assert found == [str(one) for one in sorted(ids, reverse=True)]
    assert 'rel="prev"' in html


@pytest.mark.parametrize(
    "cursor",
    ["x", "1", "1.2", "1.2.3.4", "9" * 18 + ".1.1", "1.1.99999999999"],
)
def test_a_cursor_that_nobody_gave_out_leads_to_the_first_page(
    sign_in: SignIn, cursor: str
) -> None:
    answer = sign_in("operator").get(BIN, {"after": cursor})

    assert answer.status_code in (200, 302)


@pytest.mark.parametrize("wrong", ["", "1", "x.y", "1.", ".1", f"{10**30}.1", "1.-1"])
def test_what_is_no_entry_is_refused(sign_in: SignIn, wrong: str) -> None:
    client = sign_in("operator")

    for ask in (client.get, client.post):
        assert ask(RESTORE, {"item": wrong}).status_code == 400


def test_nothing_that_anybody_wrote_becomes_part_of_the_bin(sign_in: SignIn) -> None:
    throw_away()
    Discarded.objects.update(why=EVIL, queue=EVIL)
    client = sign_in("operator")

    for html in (
        shown(client),
        client.get(
            RESTORE, {"item": item(Discarded.objects.get().message_id)}
        ).content.decode(),
    ):
        assert "<script>alert" not in html
        assert "<mark>[U+202E]</mark>" in html


@pytest.mark.usefixtures("badge_is_known")
def test_the_page_asks_a_fixed_number_of_questions(
    sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    throw_away(20)
    client = sign_in("operator")

    with django_assert_max_num_queries(18):
        shown(client)


def test_a_discarded_message_says_that_it_can_be_restored(sign_in: SignIn) -> None:
    (message_id,) = throw_away()
    client = sign_in("operator")

    html = page(client, message_id)
    said = words(html)
    assert "It was discarded" in said
    assert "fix the cause, then restore it" in said
    assert f"{RESTORE}?item={item(message_id)}" in html

    Discarded.objects.update(keep_until=F("discarded_at"))
    Discarded.objects.all().delete()
    html = page(client, message_id)
    assert "the discard bin does not have it" in words(html)
    assert RESTORE not in html


def test_a_discard_by_report_options_says_so_on_the_message(sign_in: SignIn) -> None:
    make_payments("")
    message_id = poison(descriptor={"report": int(Report.DISCARD_MSG)})
    remove("")

    said = words(page(sign_in("operator"), message_id))

    assert "on payments after 3 backouts: Its report options ask for it." in said
    assert "(2362 BACKOUT_THRESHOLD_REACHED)" in said
    assert Message.objects.filter(pk=message_id).exists()


def test_nobody_looks_without_the_permission(client: Client) -> None:
    assert client.get(BIN).status_code == 302
    client.force_login(make_user())
    assert client.get(BIN).status_code == 403
    assert client.get(RESTORE).status_code == 403
