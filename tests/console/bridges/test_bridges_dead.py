"""Dead messages of links: on their page, edited, and through the link again."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from broker.models import DeadLetter, Link, Operation, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE
from console.messages.link_letters import REASONS
from tests.console.bridging import (
    die_of_link,
    make_dead_queue,
    make_link,
    stand,
)
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

PAGE = "/bridges/shop/in/"
THROUGH = f"{PAGE}resubmit/"


@pytest.fixture
def link(db: None) -> Link:
    """From elsewhere to here."""
    made = make_link("in", source_at="stomp", target="orders", target_at="this-broker")
    stand(made, "STARTED")
    make_dead_queue()
    return made


def said(client: Client, path: str) -> str:
    answer = client.get(path, follow=True)
    assert answer.status_code == 200
    return words(answer.content.decode())


def planned(client: Client, **fields: object) -> Operation:
    answer = client.post(THROUGH, fields)
    operation = Operation.objects.latest("pk")
    assert answer["Location"] == f"/operations/{operation.pk}/"
    return operation


def moved(operation: Operation) -> list[int]:
    return sorted(operation.items.values_list("message_id", flat=True))


def test_a_link_shows_its_dead_by_cause(sign_in: SignIn, link: Link) -> None:
    for number in range(3):
        die_of_link(link, f"row {number} is bad")
    die_of_link(link, "no field", reason="TRANSFORMER_FAILURE")
    die_of_link(make_link("other"), "of another link")

    text = said(sign_in("operator"), PAGE)

    assert "Dead messages here 4" in text
    assert "SEND_FAILURE: row {n} is bad 3" in text
    assert "TRANSFORMER_FAILURE: no field 1" in text
    assert "of another link" not in text


def test_without_any_it_says_so(sign_in: SignIn, link: Link) -> None:
    assert "There are no dead messages here now" in said(sign_in("viewer"), PAGE)


def test_who_may_not_see_the_dead_message_queue_sees_none(
    client: Client, link: Link
) -> None:
    die_of_link(link)
    permissions = ("broker.view_queue", "broker.view_link")
    vera = make_user("vera", permissions=permissions, pattern="orders")
    client.force_login(vera)

    text = said(client, PAGE)

    assert "None that you may see." in text
    assert "row 7" not in text


def test_all_or_a_group_or_one_is_planned_to_go_through_the_link(
    sign_in: SignIn, link: Link
) -> None:
    first, second = (die_of_link(link, f"row {n} is bad") for n in range(2))
    third = die_of_link(link, "no field")
    die_of_link(make_link("other"), "of another link")
    client = sign_in("operator")
    group = DeadLetter.objects.filter(message_id=first).get().fingerprint

    every = planned(client)
    some = planned(client, fingerprint=group)
    one = planned(client, message=third)

    assert moved(every) == [first, second, third]
    assert moved(some) == [first, second]
    assert moved(one) == [third]
    assert (every.kind, every.argument) == ("move", link.resubmit_queue)
    assert every.scope == "dead messages of the link shop/in"
    assert some.scope.startswith("dead messages of the link shop/in of shop/in")
    assert one.scope == f"message {third}, a dead message of the link shop/in"


def test_what_is_planned_is_previewed_and_goes_to_the_link_s_own_queue(
    sign_in: SignIn, link: Link
) -> None:
    die_of_link(link)
    client = sign_in("operator")
    operation = planned(client)
    assert f"Move 1 message to {link.resubmit_queue}" in said(
        client, f"/operations/{operation.pk}/"
    )

    client.post(f"/operations/{operation.pk}/start/", {"reason": "mended"})

    queue = Queue.objects.get(name=link.resubmit_queue)
    assert queue.kind == Queue.Kind.INTERNAL
    assert operation.items.get().status == "done"
    assert "Put on" in said(client, f"/messages/{operation.items.get().copy_id}/")


def test_where_none_is_left_nothing_is_planned_or_made(
    sign_in: SignIn, link: Link
) -> None:
    answer = sign_in("operator").post(THROUGH, follow=True)

    assert answer.redirect_chain == [(PAGE, 302)]
    assert "dead messages of the link shop/in" in words(answer.content.decode())
    assert not Operation.objects.exists()
    assert not Queue.objects.filter(name=link.resubmit_queue).exists()


def test_to_resubmit_takes_the_authorities_of_both_queues(
    client: Client, link: Link
) -> None:
    die_of_link(link)
    permissions = ("broker.view_link", "broker.resubmit_message")
    granted = ("inquire", "get")
    user = make_user("vera", permissions=permissions, granted=granted)  # type: ignore[arg-type]
    client.force_login(user)

    assert client.post(THROUGH).status_code == 403
    assert not Operation.objects.exists()


@pytest.mark.parametrize("reason", REASONS)
def test_a_dead_message_says_what_happened_and_what_to_do(
    sign_in: SignIn, link: Link, reason: str
) -> None:
    number = die_of_link(link, "KeyError: 'amount'", reason=reason)

    text = said(sign_in("operator"), f"/messages/{number}/")

    says, what_to_do = REASONS[reason]
    assert f"The link shop/in could not carry it. {says} ({reason})" in text
    assert "KeyError: 'amount' Source queue orders at stomp-east" in text
    assert "JMSMessageID at the source ID:mq-east-41-1746-1:1:1:1:7" in text
    assert "Target queue orders here Sent to the source 2026-03-14 12:00:00" in text
    assert f"What to do: {what_to_do}" in text
    assert '"order": 17' in text
    assert "Resubmit through the link…" in text
    assert "Edit and resubmit through the link…" in text


def test_what_a_link_wrote_is_not_said_to_be_the_application_s(
    sign_in: SignIn, link: Link
) -> None:
    number = die_of_link(link, properties={"region": "EU", "x-opt-bridge-path": "9a"})

    text = said(sign_in("operator"), f"/messages/{number}/")

    assert "set by the application Copy the properties region EU" in text
    ours = text.index("the properties that bridges wrote 13 properties")
    assert ours < text.index("JMS_SUN_JMSBRIDGE_DMQ_BODY_TRUNCATED false")
    assert "DMQ_TIMESTAMP 1773489660000 (2026-03-14 12:01:00.000)" in text
    assert ours < text.index("x-opt-bridge-path 9a")


def test_who_may_not_read_properties_is_told_the_error_alone(
    sign_in: SignIn, link: Link
) -> None:
    number = die_of_link(link, "no field")

    text = said(sign_in("viewer"), f"/messages/{number}/")

    assert "SEND_FAILURE: no field" in text
    assert "ID:mq-east" not in text


def test_where_its_link_is_gone_the_message_still_says_why(
    sign_in: SignIn, link: Link
) -> None:
    number = die_of_link(link)
    link.delete()
    client = sign_in("operator")

    text = said(client, f"/messages/{number}/")

    assert (
        "A link of a bridge could not carry it. Its target did not accept it." in text
    )
    assert "through the link…" not in text
    assert said(client, f"/messages/{number}/edit/")


def test_of_a_source_here_the_message_says_which_link_it_was(sign_in: SignIn) -> None:
    make_queue()
    both = [make_link("out"), make_link("too")]
    numbers = [die_of_link(one) for one in both]

    client = sign_in("operator")

    for link, number in zip(both, numbers, strict=True):
        assert f"The link {link} could not" in said(client, f"/messages/{number}/")


def test_of_links_that_share_a_source_each_gets_its_own_again(
    sign_in: SignIn,
) -> None:
    make_queue()
    ours, theirs = make_link("in"), make_link("bob's")
    number = die_of_link(ours)
    other = die_of_link(theirs)
    client = sign_in("operator")

    text = said(client, PAGE)

    assert "counted here, too: shop/bob's. Only this link’s own messages" in text
    assert moved(planned(client)) == [number]
    client.post("/bridges/shop/bob~27s/resubmit/", {})
    assert moved(Operation.objects.latest("pk")) == [other]


def test_an_edited_copy_goes_through_the_link(sign_in: SignIn, link: Link) -> None:
    number = die_of_link(link, body=b'{"amont": 1}')
    client, url = sign_in("operator"), f"/messages/{number}/edit/"
    page = client.get(url)
    assert "A copy with your changes goes through the link" in page.content.decode()
    form = page.context["form"]
    typed = {name: form.initial.get(name, "") for name in form.fields}
    typed |= {"body": '{"amount": 1}', "reason": "a typing error"}
    looked = client.post(url, typed)
    assert "Send it through" in looked.content.decode()

    sent = client.post(
        url, typed | {"seen": looked.context["looked"].seal, "send": "1"}
    )

    operation = Operation.objects.get()
    item = operation.items.get()
    assert sent["Location"] == f"/messages/{item.copy_id}/"
    assert (operation.kind, item.target) == ("move", link.resubmit_queue)
    assert '"amount": 1' in said(client, f"/messages/{item.copy_id}/")


def test_groups_of_links_are_resubmitted_through_them_wherever_they_stand(
    sign_in: SignIn, link: Link
) -> None:
    die_of_link(link)
    group = DeadLetter.objects.get().fingerprint
    client = sign_in("operator")

    for path in ("/dead/", f"/dead/{group}/"):
        html = client.get(path).content.decode()
        assert THROUGH in html
        assert f'name="fingerprint" value="{group}"' in html


def test_so_are_those_of_a_link_from_a_queue_here_that_no_other_takes_from(
    sign_in: SignIn,
) -> None:
    make_queue()
    link = make_link("out")
    die_of_link(link)
    group = DeadLetter.objects.get().fingerprint
    client = sign_in("operator")

    for path in ("/dead/", f"/dead/{group}/"):
        html = client.get(path).content.decode()
        assert "/bridges/shop/out/resubmit/" in html
        assert 'href="/bridges/shop/out/"' in html
    assert "Other actions…" in html  # of the group's page

    make_link("too")
    for path in ("/dead/", f"/dead/{group}/"):
        html = client.get(path).content.decode()
        assert "/bridges/shop/out/resubmit/" not in html
        assert "/dead/resubmit/" in html


def test_the_dead_message_queue_counts_as_one(sign_in: SignIn, link: Link) -> None:
    die_of_link(link)

    text = said(sign_in("viewer"), f"/queues/{BUILT_IN_QUEUE}/")

    assert "takes dead letters" in text
    assert "no consumer took one" not in text


def test_more_dead_messages_take_no_more_queries(sign_in: SignIn, link: Link) -> None:
    client = sign_in("operator")
    die_of_link(link)
    said(client, PAGE)
    with CaptureQueriesContext(connection) as one:
        said(client, PAGE)
    for number in range(12):
        die_of_link(link, f"{'abcdefghijkl'[number] * 9} is missing")

    with CaptureQueriesContext(connection) as many:
        text = said(client, PAGE)

    assert len(many) == len(one)
    assert "And 3 more groups." in text
