"""The pages of bridges: all links, one link, and what is ordered of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from broker.models import Act, AuditRecord, Branch, Link, LinkState, LinkStatus
from broker.put import put_many
from console.bridge_pages import words as link_words
from tests.console.bridging import beat, fail, make_branch, make_link, stand
from tests.console.conftest import SignIn
from tests.console.test_messages import words
from tests.make import make_messages, make_queue, make_user

pytestmark = pytest.mark.django_db

ERROR = "stomp-east: nobody answers at stomp://mq-east.example:61613."
LIST = "/bridges/"
PAGE = "/bridges/shop/out/"


def got(client: Client, path: str = LIST) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def said(client: Client, path: str = LIST) -> str:
    return words(got(client, path))


def offered(html: str) -> list[str]:
    """What can be ordered of the link of a page, of its forms and links."""
    return [
        one for one in ("start", "pause", "resume", "stop") if f"{PAGE}{one}/" in html
    ]


def test_where_there_is_none_it_says_what_a_bridge_is(sign_in: SignIn) -> None:
    text = said(sign_in("viewer"))

    assert "There are no links." in text
    assert "A bridge has links; each carries messages from a queue or topic" in text
    assert "An administrator makes them under Settings." in text
    assert "No bridge process runs" not in text


def test_links_stand_by_bridge_and_failed_ones_first(sign_in: SignIn) -> None:
    stand(make_link("a"), "STARTED")
    stand(make_link("b", bridge="warehouse"), "PAUSED")
    fail(make_link("z", bridge="warehouse"), ERROR)

    text = said(sign_in("operator"))

    order = ["Failed: needs", "warehouse/z", "shop/a", "warehouse/b"]
    assert sorted(order, key=text.rindex) == order
    assert "1 failed, 1 running, 1 paused" in text
    assert f"{ERROR} now. Put that right, then start the link" in text


def test_a_link_says_whence_and_where_to_and_how_it_does(sign_in: SignIn) -> None:
    now = timezone.now()
    link = make_link(target_at="rabbitmq")
    ago = now - timedelta(minutes=2, seconds=5)
    stand(link, "STARTED", waiting=37, oldest_at=ago, last_transfer_at=ago)

    text = said(sign_in("viewer"))

    assert "queue orders here → queue orders.copy at rabbitmq-east (RabbitMQ)" in text
    assert "running" in text
    assert "37 oldest 2 m 05 s ago" in text
    assert "not told" not in text


def test_what_a_provider_does_not_tell_is_said(sign_in: SignIn) -> None:
    stand(make_link(source_at="stomp", target_at="this-broker"), "STARTED")
    stand(make_link("other"), "STARTED")

    text = said(sign_in("viewer"))

    assert "not told by this provider" in text
    assert "not asked yet" in text


@pytest.mark.parametrize(
    ("state", "offers"),
    [
        ("UNINITIALIZED", ["start"]),
        ("STARTING", ["pause", "stop"]),
        ("STARTED", ["pause", "stop"]),
        ("PAUSING", ["resume", "stop"]),
        ("PAUSED", ["resume", "stop"]),
        ("STOPPING", ["start"]),
        ("STOPPED", ["start"]),
    ],
)
@pytest.mark.spec("BRIDGE-18")
def test_only_what_its_state_takes_is_offered(
    sign_in: SignIn, state: str, offers: list[str]
) -> None:
    stand(make_link(), state)
    client = sign_in("operator")

    assert offered(got(client)) == offers
    assert offered(got(client, PAGE)) == offers


def test_a_disabled_link_is_not_offered_to_be_started(sign_in: SignIn) -> None:
    stand(make_link(enabled=False), "STOPPED", error=ERROR)
    client = sign_in("operator")

    assert offered(got(client)) == []
    text = said(client, PAGE)
    assert "it cannot be started until it is enabled under Settings" in text
    assert "failed" not in text


def test_who_only_looks_is_offered_nothing(sign_in: SignIn) -> None:
    fail(make_link(), ERROR)
    client = sign_in("viewer")

    assert offered(got(client)) == []
    assert "The role operator may start it." in said(client, PAGE)


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("start", "STOPPED", "STARTING"),
        ("pause", "STARTED", "PAUSING"),
        ("resume", "PAUSED", "STARTING"),
        ("stop", "STARTED", "STOPPING"),
    ],
)
def test_an_order_is_given_and_recorded(
    sign_in: SignIn, command: str, before: str, after: str
) -> None:
    link = make_link()
    stand(link, before)
    client = sign_in("operator")
    assert client.get(f"{PAGE}{command}/").status_code == 200
    assert not AuditRecord.objects.filter(object_kind="link").exists()

    answer = client.post(f"{PAGE}{command}/", {"reason": "night work"})

    assert answer["Location"] == PAGE
    assert LinkStatus.objects.get().state == after
    record = AuditRecord.objects.get(object_kind="link")
    assert (record.act, record.reason) == (f"link.{command}", "night work")
    assert record.object_name == "shop/out"


def test_a_failed_link_that_is_started_again_is_wrong_no_more(
    sign_in: SignIn,
) -> None:
    fail(make_link(), ERROR)
    client = sign_in("operator")

    client.post(f"{PAGE}start/")

    text = said(client)
    assert "1 starting" in text
    assert ERROR not in text


def test_an_order_from_the_list_leads_back_to_it(sign_in: SignIn) -> None:
    stand(make_link(), "STOPPED")

    answer = sign_in("operator").post(f"{PAGE}start/", {"back": "list"}, follow=True)

    assert answer.redirect_chain == [(LIST, 302)]
    assert "The link shop/out is ordered to start." in words(answer.content.decode())


@pytest.mark.parametrize(
    ("command", "state", "told"),
    [
        ("pause", "STOPPED", "cannot pause: it is stopped. Start it first."),
        ("start", "STARTED", "is so already; nothing was done."),
    ],
)
def test_what_was_ordered_too_late_is_said(
    sign_in: SignIn, command: str, state: str, told: str
) -> None:
    stand(make_link(), state)

    answer = sign_in("operator").post(f"{PAGE}{command}/", follow=True)

    assert told in words(answer.content.decode())
    assert not AuditRecord.objects.filter(object_kind="link").exists()


def test_a_page_draws_the_way_with_a_count_at_each_step(sign_in: SignIn) -> None:
    link = make_link(transformer="eu-orders", transacted=True)
    counts = {"received": 1000, "duplicates": 1, "looped": 2, "expired": 3}
    counts |= {"transformed": 994, "not_transferred": 4, "branched": 5, "sent": 990}
    stand(link, "STARTED", dead=7, **counts)

    text = said(sign_in("viewer"), PAGE)

    steps = (
        "Source queue orders here See the queue",
        "Receive 1,000 received in a transaction 1 known already",
        "2 came round in a loop",
        "Check expiry what has expired is not sent 3 expired",
        "Transform 994 transformed reply-to taken away; by a transformer"
        " 4 not transferred 5 branched off",
        "Tag off for this bridge",
        "Send 990 sent to the target",
        "Commit both ends at once",
        "Target queue orders.copy at stomp-east (STOMP)",
        "7 put on dead message queues in all",
    )
    assert " ".join(steps) in text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"target_at": "this-broker"}, "Once and only once, by one database"),
        ({"target_at": "backout"}, "Once and only once, by prepare and commit"),
        ({"target_at": "stomp"}, "Once and only once, by a marker queue"),
        ({"target_at": "rabbitmq"}, "None: it is transacted, and its provider"),
        ({"target_at": "rabbitmq", "transacted": False}, "At least once: after a"),
        ({"target_at": "kombu", "transacted": False}, "At least once, best effort: "),
        (
            {
                "source_at": "stomp",
                "target_at": "this-broker",
                "transacted": False,
                "duplicate_detection": True,
            },
            "At least once, and duplicates are recognised",
        ),
    ],
)
def test_what_a_link_guarantees_is_said(fields: dict[str, object], told: str) -> None:
    link = make_link(**fields)  # type: ignore[arg-type]

    assert link_words.guarantee_of(link).startswith(told)


def test_a_page_says_what_is_wrong_and_what_to_do(sign_in: SignIn) -> None:
    link = make_link()
    fail(link, ERROR)
    client = sign_in("operator")

    text = said(client, PAGE)
    assert "The link has failed: it stopped by itself, " in text
    assert f"{ERROR} Put that right, then start the link" in text
    assert "A link has failed: shop/out. Messages wait" in said(client, "/")

    stand(link, "STARTED", failures=17, wanted="STARTED")
    text = said(client, PAGE)
    assert "The link does not get on" in text
    assert "It failed 17 times in a row, and tries again by itself." in text

    stand(link, "STARTED", failures=0)
    assert ERROR not in said(client, PAGE)


def test_where_no_process_runs_links_it_is_said(sign_in: SignIn) -> None:
    make_link()
    client = sign_in("viewer")
    assert "No bridge process runs" in said(client)
    assert "No bridge process runs" in said(client, PAGE)

    beat()

    assert "No bridge process runs" not in said(client)


def test_what_was_ordered_is_told_to_those_who_may_read_the_audit(
    sign_in: SignIn,
) -> None:
    stand(make_link(), "STOPPED")
    client = sign_in("administrator")
    client.post(f"{PAGE}start/", {"reason": "it is mended"})

    assert "Started a link by administrator" in said(client, PAGE)
    client.force_login(make_user("vera", permissions=("broker.view_link",)))
    assert "it is mended" not in said(client, PAGE)


def test_a_branch_in_doubt_is_decided_by_administrators(sign_in: SignIn) -> None:
    make_branch(make_link(), "bk:7/1", kind=Branch.Kind.PREPARED, messages=3)
    ada, path = sign_in("administrator"), f"{PAGE}branches/bk~3A7~2F1/commit/"
    text = said(ada, PAGE)
    assert "bk:7/1 3" in text
    assert "Prepared here; the marker at the other provider decides." in text
    assert path in got(ada, PAGE)
    assert "3 messages: prepared here" in said(ada, path)

    answer = ada.post(path, {"reason": " "})

    assert answer.status_code == 422
    assert "Say why." in answer.content.decode()
    assert ada.get(f"{PAGE}branches/another/commit/").status_code == 404


def test_only_administrators_are_offered_to_decide(sign_in: SignIn) -> None:
    make_branch(make_link())
    client = sign_in("operator")

    assert "commit/" not in got(client, PAGE)
    assert "The role administrator may decide." in said(client, PAGE)
    assert client.get(f"{PAGE}branches/bk~3A7~3A1/commit/").status_code == 403


def test_a_link_whose_queue_one_may_not_see_is_not_there(client: Client) -> None:
    fail(make_link(), ERROR)
    permissions = ("broker.view_queue", "broker.view_link", "broker.operate_link")
    vera = make_user("vera", permissions=permissions, pattern="invoices")
    client.force_login(vera)

    assert "There are no links on the queues that you may see." in said(client)
    assert client.get(PAGE).status_code == 404
    assert client.post(f"{PAGE}start/").status_code == 404
    assert client.get("/bridges/shop/none/").status_code == 404
    assert "shop/out" not in said(client, "/overview/")


def test_to_order_takes_the_authority_to_set_its_queues(client: Client) -> None:
    stand(make_link(), "STARTED")
    permissions = ("broker.view_link", "broker.operate_link")
    vera = make_user("vera", permissions=permissions, granted=("inquire",))
    client.force_login(vera)

    answer = client.post(f"{PAGE}stop/")

    assert answer.status_code == 403
    assert LinkStatus.objects.get().state == "STARTED"


def test_the_overview_names_links_that_need_somebody(sign_in: SignIn) -> None:
    long_ago = timezone.now() - timedelta(minutes=9)
    fail(make_link("broken"), ERROR)
    trouble = {"error": ERROR, "error_at": timezone.now(), "failures": 3}
    stand(make_link("tries"), "STARTED", started_at=long_ago, **trouble)
    stand(make_link("just-now"), "STARTED", started_at=timezone.now(), **trouble)
    make_branch(make_link("doubts"), began_at=long_ago)
    make_branch(make_link("commits"), "bk:8:1", began_at=timezone.now())

    html = got(sign_in("viewer"), "/overview/")

    text = words(html)
    assert f"shop/broken stopped by itself: {ERROR}" in text
    assert f"shop/tries does not get on: {ERROR}" in text
    assert "shop/doubts: 1 transaction waits for the other broker." in text
    assert "just-now" not in text
    assert "commits" not in text
    assert reverse("console:link", args=["shop", "broken"]) in html


def test_names_may_hold_what_urls_may_not(sign_in: SignIn) -> None:
    stand(make_link("50% of ~all~?", bridge="Käufe & Co."), "STARTED")
    client = sign_in("operator")
    link = Link.objects.get()

    path = reverse("console:link", args=[link.bridge.name, link.name])

    assert path in got(client)
    assert "Käufe &amp; Co./50% of ~all~?" in got(client, path)


def test_however_many_there_are_it_takes_as_many_queries(sign_in: SignIn) -> None:
    client = sign_in("operator")
    stand(make_link("one"), "STARTED")
    got(client)
    with CaptureQueriesContext(connection) as one:
        got(client)
    for number in range(30):
        fail(make_link(f"l{number}", bridge=f"b{number % 7}"), ERROR)

    with CaptureQueriesContext(connection) as many:
        text = said(client)

    assert len(many) == len(one) <= 20
    assert text.count(ERROR) == 30


def test_a_page_of_one_link_takes_few_queries(sign_in: SignIn) -> None:
    make_queue()
    put_many(make_messages(20))
    stand(make_link(transformer="eu"), "STARTED")
    client = sign_in("administrator")
    got(client, PAGE)

    with CaptureQueriesContext(connection) as asked:
        got(client, PAGE)

    assert len(asked) <= 32


def test_a_hundred_links_stand_on_a_page(sign_in: SignIn) -> None:
    for number in range(101):
        stand(make_link(f"l{number:03}"), "STOPPED")
    client = sign_in("viewer")

    assert "1–100 of 101 links" in said(client)
    text = said(client, f"{LIST}?page=2")
    assert "101–101 of 101 links" in text
    assert "shop/l100" in text
    assert "shop/l099" not in text


def test_every_state_and_act_has_its_words(sign_in: SignIn) -> None:
    link = make_link()
    for state in LinkState:
        assert link_words.chip_of(stand(link, state))[0] in link_words.CHIPS.values()
    acts = [Act.START_LINK, Act.PAUSE_LINK, Act.RESUME_LINK, Act.STOP_LINK]
    assert all(act.label.endswith("a link") for act in acts)
