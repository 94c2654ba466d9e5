"""Orders for what a filter finds: list, count, plan and API mean one set."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from broker.formats.filters import parse
from broker.models import Operation, Queue, RoutingType
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from console.operations.words import WORDS
from tests.broker.dying import make_dead_letters, on
from tests.broker.found import make_scene
from tests.console.conftest import SignIn
from tests.console.messages.finding import ORDER, filters_of, items, links, listed, page
from tests.console.messages.test_api_finding import COUNT
from tests.console.messages.test_api_finding import found as told
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import said as shown
from tests.console.operations.ordering import started, url
from tests.make import make_messages, make_queue, make_user, minutes

Kind = Operation.Kind
OF_DELAYED = (Kind.DELIVER, Kind.RESCHEDULE)
Keys = set[tuple[int, int]]


def plan(client: Client, which: str, kind: str, **fields: object) -> Operation:
    answer = client.post(ORDER, {"which": which, "kind": kind, **fields})
    assert answer.status_code == 302, words(answer.content.decode())
    operation = Operation.objects.latest("pk")
    assert answer["Location"] == url("operation", operation)
    return operation


def keys_of(operation: Operation) -> Keys:
    return set(operation.items.values_list("message_id", "queue_id"))


def keys_in(items: list[str]) -> Keys:
    return {(int(m), int(q)) for m, _, q in (one.partition(".") for one in items)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "filters",
    [
        ["state:dead"],
        ["queue:*"],
        ["state:ready,delayed", "priority:>=4"],
        ["body:needle"],
        ["h.tenant:t7,t8"],
        ["-type:order", "size:<100"],
        ["row"],
        ["at:2026-03-14T12:00Z..12:10"],
        ["state:in-flight,ready"],
    ],
)
def test_list_count_plan_and_api_find_the_same(
    sign_in: SignIn, filters: list[str]
) -> None:
    make_scene()
    client = sign_in("operator")
    normal = [str(term) for text in filters for term in parse(text).terms]
    names = dict(Queue.objects.values_list("name", "pk"))

    html = page(client, *normal)
    api = told(client, *normal, limit=200)["messages"]
    count = client.get(COUNT, {"f": normal}).json()
    planned = plan(client, "all", Kind.REMOVE, f=normal)

    assert api
    assert listed(html) == [one["message_id"] for one in api]
    assert count["messages"] == len(api)
    assert count["is_exact"]
    assert f"{len(api)} match" in words(html)
    at_hand = {
        (one["message_id"], names[one["queue"]])
        for one in api
        if one["state"] in ("ready", "delayed", "dead")
    }
    assert keys_of(planned) == keys_in(items(html)) == at_hand
    assert f"Act on all {len(at_hand)} that match…" in words(html)
    assert f"Remove {len(at_hand)} message" in shown(client, url("operation", planned))


def test_all_that_match_is_frozen_when_it_is_planned(sign_in: SignIn) -> None:
    make_queue("orders")
    make_queue("aside")
    put("orders")
    client = sign_in("operator")
    form = client.get(ORDER, {"which": "all", "f": "queue:orders"}).content.decode()
    assert "Act on 1 message matching “queue:orders”" in words(form)
    put("orders")

    planned = plan(client, "all", Kind.MOVE, f="queue:orders", to="aside")
    third = put("orders").message_id

    assert planned.scope == "all messages matching “queue:orders”"
    assert "2 moved to aside" in started(client, planned)
    assert len(on("aside")) == 2
    assert on("orders") == [third]


def test_what_is_ticked_is_planned_and_nothing_else(sign_in: SignIn) -> None:
    for name in ("one", "two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    put_many(make_messages(3, "news"))
    client = sign_in("operator")
    html = page(client, "queue:*")
    assert len(items(html)) == 6
    ticked = items(html)[1:4]

    form = client.get(ORDER, {"which": "ticked", "f": "queue:*", "item": ticked})
    assert "Act on 3 chosen messages" in words(form.content.decode())
    planned = plan(client, "ticked", Kind.REMOVE, f="queue:*", item=ticked)

    assert keys_of(planned) == keys_in(ticked)
    assert planned.scope == "3 chosen messages"


def test_the_form_chooses_the_same_again(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders")
    client = sign_in("operator")
    (item,) = items(page(client))

    html = client.get(
        ORDER, {"which": "ticked", "item": item, "f": "queue:orders", "after": "9.1"}
    ).content.decode()

    for name, value in (
        ("which", "ticked"),
        ("item", item),
        ("f", "queue:orders"),
        ("after", "9.1"),
    ):
        assert f'<input type="hidden" name="{name}" value="{value}">' in html
    back = links(html, "Cancel")[0]
    assert filters_of(back) == ["queue:orders"]
    assert "after=9.1" in back


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        (["state:dead"], {Kind.RESUBMIT}),
        (["state:delayed"], {*OF_DELAYED, Kind.DEAD_LETTER}),
        (["state:ready"], {Kind.DEAD_LETTER}),
        (["queue:*"], {Kind.RESUBMIT, *OF_DELAYED, Kind.DEAD_LETTER}),
    ],
)
def test_what_makes_no_sense_is_not_offered(
    sign_in: SignIn, filters: list[str], kinds: set[str]
) -> None:
    make_scene()
    client = sign_in("operator")

    html = client.get(ORDER, {"which": "all", "f": filters}).content.decode()

    offered = {kind for kind in WORDS if f'name="kind" value="{kind}"' in html}
    always = {Kind.MOVE, Kind.COPY, Kind.PRIORITY, Kind.EXPIRE, Kind.REMOVE}
    assert offered == always | kinds


@pytest.mark.parametrize(
    ("kind", "fields", "result"),
    [
        (Kind.RESUBMIT, {}, "2 sent"),
        (Kind.MOVE, {"to": "aside"}, "2 moved to aside"),
        (Kind.COPY, {"to": "aside"}, "2 copied to aside"),
        (Kind.PRIORITY, {"priority": 9}, "2 given priority 9"),
        (Kind.EXPIRE, {}, "2 expired"),
        (Kind.REMOVE, {}, "2 removed"),
    ],
)
def test_every_kind_is_done_to_what_was_found(
    sign_in: SignIn, kind: str, fields: dict[str, object], result: str
) -> None:
    make_queue("aside")
    make_dead_letters(2)
    client = sign_in("operator")

    planned = plan(client, "all", kind, f=["state:dead", "error:customer"], **fields)

    assert result in started(client, planned)


def test_what_waits_is_delivered_now(sign_in: SignIn) -> None:
    make_queue("orders")
    late = put("orders", deliver_at=timezone.now() + minutes(60)).message_id
    client = sign_in("operator")

    planned = plan(client, "all", Kind.DELIVER, f="state:delayed")

    assert "1 made ready" in started(client, planned)
    assert on("orders") == [late]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"which": "ticked"}, "Select at least one message first."),
        ({"which": "all", "f": ""}, "Filter first, to act on all that match."),
        ({"which": "all", "f": "queue:none"}, "There is nothing to do in"),
        ({"which": "ticked", "item": "x"}, "This is no message."),
        ({"which": "ticked", "item": "0.1"}, "There are no such numbers."),
        ({"which": "ticked", "item": ["7.7"]}, "There is nothing to do in"),
        (
            {"which": "ticked", "item": [f"{n}.1" for n in range(1, 502)]},
            "Select at most 500 messages.",
        ),
    ],
)
def test_what_cannot_be_ordered_is_said_above_the_list(
    sign_in: SignIn, fields: dict[str, str | list[str]], sentence: str
) -> None:
    client = sign_in("operator")
    answer = client.get(ORDER, fields, follow=True)
    assert sentence in words(answer.content.decode())
    assert not Operation.objects.exists()


def test_what_a_consumer_took_meanwhile_is_left_to_it(sign_in: SignIn) -> None:
    make_queue("orders")
    put_many(make_messages(2))
    client = sign_in("operator")
    ticked = items(page(client))
    UnitOfWork().get("orders")

    planned = plan(client, "ticked", Kind.REMOVE, item=ticked)

    assert keys_of(planned) == keys_in(ticked[:1])


def test_a_form_is_for_those_who_may_and_about_what_they_see(
    client: Client, sign_in: SignIn
) -> None:
    secret = make_queue("secret")
    make_queue("orders")
    hidden = put("secret").message_id
    put("orders")
    all_of_them = {"which": "all", "f": "queue:*"}
    assert sign_in("viewer").get(ORDER, all_of_them).status_code == 403

    user = make_user(
        permissions=("broker.view_queue", "broker.resubmit_message"), pattern="orders"
    )
    client.force_login(user)
    item = f"{hidden}.{secret.pk}"
    said = {"which": "ticked", "item": item, "kind": Kind.REMOVE}
    answer = client.post(ORDER, said, follow=True)
    assert "There is nothing to do in" in words(answer.content.decode())
    planned = plan(client, "all", Kind.REMOVE, f="queue:*")
    assert {queue for _, queue in keys_of(planned)} == {
        Queue.objects.get(name="orders").pk
    }


def test_what_is_seen_without_the_authority_to_take_is_not_planned(
    client: Client, db: None
) -> None:
    make_queue("orders")
    put("orders")
    permissions = ("broker.view_queue", "broker.resubmit_message")
    client.force_login(make_user(permissions=permissions, granted=("inquire",)))

    answer = client.post(ORDER, {"which": "all", "f": "queue:*", "kind": Kind.REMOVE})

    assert answer.status_code == 403
    assert not Operation.objects.exists()
