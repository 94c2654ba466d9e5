"""Operations are seen by those who may inquire the queues that they are about."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker import operations
from broker.models import Authority, Operation, Queue
from broker.operations import Chosen, Order
from broker.queueing.put import put
from broker.security import authorities
from console.accounts import roles
from tests.console.letters import make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import order, url
from tests.make import make_authority, make_queue, make_user

Kind = Operation.Kind
LIST = reverse("console:operations")


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("billing")
    return make_places()


@pytest.fixture
def vera(client: Client, orders: Queue) -> User:
    """She looks, at ``billing`` alone; and is signed in."""
    role = tuple(roles.ROLES["operator"])
    user = make_user("vera", permissions=role, granted=("inquire",), pattern="billing")
    client.force_login(user)
    return user


def moved(queue: str, *, to: str = "DLQ") -> Operation:
    put(queue)
    what, chosen = Order(Kind.MOVE, to), Chosen(queue=queue)
    return operations.plan(make_user(f"omar {queue}"), what, chosen, scope=queue)


def test_others_are_neither_listed_nor_shown(client: Client, vera: User) -> None:
    own, other = moved("billing"), moved("orders")

    listed = client.get(LIST).content.decode()

    assert url("operation", own) in listed
    assert url("operation", other) not in listed
    assert client.get(url("operation", own)).status_code == 200
    assert client.get(url("operation", other)).status_code == 404
    for name in ("cancel", "undo", "start"):
        assert client.post(url(name, other), {"reason": "x"}).status_code == 404
    other.refresh_from_db()
    assert other.state == Operation.State.PLANNED


def test_one_queue_that_may_not_be_seen_hides_all_of_it(
    client: Client, vera: User
) -> None:
    messages = put("billing").message_id, put("orders").message_id
    chosen = Chosen(ids=messages)
    both = operations.plan(make_user(), Order(Kind.REMOVE), chosen, scope="two")

    assert url("operation", both) not in client.get(LIST).content.decode()
    assert client.get(url("operation", both)).status_code == 404

    make_authority(vera, "inquire", pattern="orders")

    assert url("operation", both) in client.get(LIST).content.decode()
    assert client.get(url("operation", both)).status_code == 200


def test_what_lay_on_a_queue_that_is_gone_is_for_those_who_may_see_all(
    client: Client, vera: User
) -> None:
    old = moved("billing")
    Queue.objects.filter(name="billing").delete()
    assert url("operation", old) not in client.get(LIST).content.decode()
    assert client.get(url("operation", old)).status_code == 404

    Authority.objects.filter(user=vera).update(pattern="#")

    assert url("operation", old) in client.get(LIST).content.decode()
    assert "a queue that is gone" in words(
        client.get(url("operation", old)).content.decode()
    )


def grant(user: User, *granted: list[authorities.Authority]) -> None:
    """What somebody may on orders, and on billing; inquire both."""
    Authority.objects.filter(user=user).delete()
    for queue, some in zip(("orders", "billing"), granted, strict=True):
        make_authority(user, "inquire", *some, pattern=queue)


@pytest.mark.parametrize(
    ("kind", "fields", "on_orders", "on_billing", "lacks"),
    [
        (Kind.MOVE, {"to": "billing"}, ["get"], [], "'put' on queue 'billing'"),
        (Kind.MOVE, {"to": "billing"}, ["put"], ["put"], ""),
        (Kind.COPY, {"to": "billing"}, ["browse"], [], "'put' on queue 'billing'"),
        (Kind.PRIORITY, {"priority": 9}, ["get"], [], ""),
        (Kind.REMOVE, {}, ["browse", "put"], [], ""),
    ],
)
def test_orders_need_what_they_do(
    client: Client,
    vera: User,
    kind: str,
    fields: dict[str, object],
    on_orders: list[authorities.Authority],
    on_billing: list[authorities.Authority],
    lacks: str,
) -> None:
    put("orders")
    grant(vera, on_orders, on_billing)
    form = reverse("console:order", args=["orders"])

    answer = client.post(form, {"which": "all", "kind": kind, **fields})

    assert not Operation.objects.exists()
    assert answer.status_code == 403
    assert (lacks or "lacks the authority") in words(answer.content.decode())


@pytest.mark.parametrize(
    ("kind", "fields", "on_orders", "on_billing"),
    [
        (Kind.MOVE, {"to": "billing"}, ["get"], ["put"]),
        (Kind.COPY, {"to": "billing"}, ["browse"], ["put"]),
        (Kind.PRIORITY, {"priority": 9}, ["get", "put"], []),
        (Kind.REMOVE, {}, ["get"], []),
        (Kind.EXPIRE, {}, ["get"], []),
        (Kind.DEAD_LETTER, {}, ["get"], []),
    ],
)
def test_orders_need_no_more_than_that(
    client: Client,
    vera: User,
    kind: str,
    fields: dict[str, object],
    on_orders: list[authorities.Authority],
    on_billing: list[authorities.Authority],
) -> None:
    put("orders")
    grant(vera, on_orders, on_billing)

    assert order(client, kind, **fields).items.count() == 1
