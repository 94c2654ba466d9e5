"""Branches over the API: got, prepared, and done at once."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.amqp.messages import batches
from broker.models import (
    Act,
    AuditRecord,
    Event,
    Message,
    Place,
    PreparedPut,
    Queue,
    Ready,
    UnitOfWork,
)
from broker.monitoring import fsck
from broker.queueing import browse
from broker.queueing.put import NewMessage, put, put_many
from broker.security import credentials
from tests.amqp.written import came, data, properties
from tests.broker.promising import ready
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.messages.branching import get, machine, of, post, send
from tests.make import make_messages, make_queue, make_redaction, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def booked() -> Queue:
    return make_queue("booked")


@pytest.fixture
def bridge(orders: Queue, booked: Queue) -> Client:
    """A machine that gets and puts on two queues."""
    return machine("bridge")


def test_messages_are_got_as_they_were_put(bridge: Client, orders: Queue) -> None:
    by_amqp = came(properties(message_id="7", subject="s") + data(b"two"))
    messages = [
        NewMessage("orders", b"one", properties={"a": [1, {"b": None}]}, priority=9),
        by_amqp,
    ]
    put_many(messages)

    answer = post(bridge, "queues/orders/branch", {})

    assert answer["Content-Type"] == batches.CONTENT_TYPE
    batch = batches.opened(answer.content)
    assert [batches.unpacked(one) for one in batch.parts] == messages
    ids = list(Message.objects.order_by("id").values_list("id", flat=True))
    assert [one.fields["more"]["id"] for one in batch.parts] == ids
    assert "put_at" in batch.parts[0].fields["more"]
    assert "name" not in batch.parts[1].fields["more"]
    assert batch.head["until"] is not None


@pytest.mark.spec("BRIDGE-21")
def test_a_branch_is_prepared_with_what_it_sends_and_committed(
    bridge: Client, orders: Queue, booked: Queue
) -> None:
    put_many(make_messages(3))
    branch, ids = get(bridge)

    prepare = f"branches/{branch}/prepare?xid=link-1:7"
    assert send(bridge, prepare, of(b"a", b"b", accept=ids)).json() == {
        "xid": "link-1:7"
    }
    assert (ready(orders), ready(booked)) == (0, 0)
    assert bridge.get(f"{ROOT}/branches").json() == {"xids": ["link-1:7"]}

    told = problem(post(bridge, f"branches/{branch}/release", {}), 409)
    assert told["code"] == "lock-lost"  # it is its coordinator's to end
    assert post(bridge, "branches/link-1:7/commit", {}).status_code == 200

    bodies = [bytes(one.body) for one in Message.objects.filter(address="booked")]
    assert sorted(bodies) == [b"a", b"b"]
    assert (ready(orders), ready(booked)) == (0, 2)
    assert not PreparedPut.objects.exists()
    assert not UnitOfWork.objects.exists()
    assert set(Event.objects.values_list("actor", flat=True)) == {"", "bridge"}
    assert not AuditRecord.objects.filter(act=Act.COMMIT_PREPARED).exists()


def test_what_is_not_accepted_goes_back_with_its_preparation(
    bridge: Client, orders: Queue
) -> None:
    put_many(make_messages(3))
    branch, (first, *rest) = get(bridge)

    send(bridge, f"branches/{branch}/prepare?xid=x", of(accept=[first]))

    entries = browse.browse(orders.pk, Place.READY)
    assert [one.message_id for one in entries] == rest
    assert {one.backout_count for one in entries} == {0}
    assert post(bridge, "branches/x/commit", {}).status_code == 200
    assert fsck.violations() == []


def test_messages_are_put_and_prepared_in_one_request(
    bridge: Client, booked: Queue
) -> None:
    answer = send(bridge, "branches/prepare?xid=x", of(b"a"))

    assert answer.json() == {"xid": "x"}
    assert ready(booked) == 0
    post(bridge, "branches/x/commit", {})
    assert ready(booked) == 1


@pytest.mark.spec("BRIDGE-21")
def test_a_request_commits_a_prepared_branch_first(
    bridge: Client, orders: Queue, booked: Queue
) -> None:
    send(bridge, "branches/prepare?xid=1", of(b"a"))
    send(bridge, "branches/prepare?xid=2&commit=1", of(b"b"))
    send(bridge, "branches/prepare?xid=3&commit=2", of(b"c", to="nowhere"))
    assert bridge.get(f"{ROOT}/branches").json() == {"xids": []}
    assert ready(booked) == 2

    send(bridge, "branches/prepare?xid=4&commit=1", of(b"d"))  # it has ended
    answer = post(bridge, "queues/orders/branch", {"commit": "4"})
    assert answer.status_code == 200
    assert batches.opened(answer.content).parts == []
    assert ready(booked) == 3


def test_nobody_commits_the_branch_of_another_first(
    bridge: Client, orders: Queue, booked: Queue
) -> None:
    send(bridge, "branches/prepare?xid=1", of(b"a"))
    other = machine("other")
    post(other, "queues/orders/branch", {"commit": "1"})
    send(other, "branches/prepare?xid=2&commit=1", of(b"b"))
    assert bridge.get(f"{ROOT}/branches").json() == {"xids": ["1"]}
    assert ready(booked) == 0


def test_a_branch_is_accepted_in_one_phase_and_goes_on(
    bridge: Client, orders: Queue, booked: Queue
) -> None:
    put_many(make_messages(4))
    branch, (first, second) = get(bridge, limit=2)

    answer = send(bridge, f"branches/{branch}/accept", of(b"a", accept=[first]))
    assert answer.json() == {"held": [second]}
    same, (third,) = get(bridge, limit=1, branch=branch)
    assert same == branch
    answer = post(bridge, f"branches/{branch}/release", {"messages": [third]})
    assert answer.json() == {"held": [second]}
    failed = {"failed": True, "error": "no stock"}
    assert post(bridge, f"branches/{branch}/release", failed).json() == {"held": []}

    assert ready(booked) == 1
    entries = browse.browse(orders.pk, Place.READY)
    assert [(one.message_id, one.backout_count) for one in entries] == [
        (second, 1),
        (third, 0),
        (third + 1, 0),
    ]
    told = problem(send(bridge, f"branches/{branch}/accept"), 409)
    assert told["code"] == "lock-lost"
    told = problem(post(bridge, "queues/orders/branch", {"branch": branch}), 409)
    assert told["code"] == "lock-lost"
    assert fsck.violations() == []


def test_a_branch_is_of_one_queue(bridge: Client, orders: Queue) -> None:
    put("orders")
    branch, _ = get(bridge)

    problem(post(bridge, "queues/booked/branch", {"branch": branch}), 404)


def test_a_batch_is_put_or_refused_whole(bridge: Client, booked: Queue) -> None:
    assert send(bridge, "branches/put", of(b"a", b"b")).json() == {"messages": 2}
    assert set(Message.objects.values_list("producer", flat=True)) == {"bridge"}

    both = [NewMessage("booked"), NewMessage("mail")]
    told = problem(send(bridge, "branches/put", batches.sealed(both)), 403)
    assert told["code"] == "not-authorized"
    told = problem(send(bridge, "branches/put", b"{}"), 400)
    assert told["code"] == "invalid-batch"
    many = batches.sealed([NewMessage("booked")] * 1001)
    assert problem(send(bridge, "branches/put", many), 400)["code"] == "invalid-batch"
    assert ready(booked) == 2


def test_who_may_pass_all_keeps_the_producer(booked: Queue) -> None:
    user = make_user("mover")
    _, secret = credentials.create("mover", user)
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    sealed = batches.sealed([NewMessage("booked", producer="till 7")])

    send(client, "branches/put", sealed)

    assert Message.objects.get().producer == "till 7"


def test_what_cannot_be_committed_is_not_prepared(
    bridge: Client, orders: Queue, booked: Queue
) -> None:
    put("orders")
    branch, _ = get(bridge)
    body = batches.sealed([NewMessage("booked", properties={"a": "\0"})])

    told = problem(send(bridge, f"branches/{branch}/prepare?xid=x", body), 409)

    assert told["code"] == "backed-out"
    assert ready(orders) == 1
    assert not UnitOfWork.objects.exists()


@pytest.mark.parametrize("ids", [[1], "all", [True], [-1], [2**63]])
def test_what_is_not_held_is_not_accepted(
    bridge: Client, orders: Queue, ids: object
) -> None:
    put("orders")
    branch, (held,) = get(bridge)
    is_other = ids == [1]
    status = 409 if is_other else 400
    ids = [held, held + 1000] if is_other else ids

    for where in ("accept", "prepare?xid=x"):
        body = of(accept=ids)
        problem(send(bridge, f"branches/{branch}/{where}", body), status)
    assert UnitOfWork.objects.get().xid is None


@pytest.mark.parametrize("xid", ["", "a b", "a/b", "x" * 201, "ä"])
def test_an_xid_is_fit_for_a_url(bridge: Client, xid: str) -> None:
    problem(send(bridge, f"branches/prepare?xid={xid}", of(b"a")), 422)


def test_a_token_is_for_who_got_it(bridge: Client, orders: Queue) -> None:
    put("orders")
    branch, _ = get(bridge)
    other = machine("other")

    for token in (branch, "a" * 20):
        for end in ("accept", "prepare?xid=x"):
            problem(send(other, f"branches/{token}/{end}"), 404)
        problem(post(other, f"branches/{token}/release", {}), 404)
        problem(post(other, "queues/orders/branch", {"branch": token}), 404)
    assert UnitOfWork.objects.exists()


def test_a_consumer_has_back_what_it_held_under_its_name(
    bridge: Client, orders: Queue
) -> None:
    put_many(make_messages(5))
    lost, first = get(bridge, limit=2, consumer="link 7")
    _, _ = get(bridge, limit=1, consumer="link 8")
    _, _ = get(bridge, limit=1)
    kept, _ = get(bridge, limit=1, consumer="link 7")
    send(bridge, f"branches/{kept}/prepare?xid=x")
    where = "queues/orders/branches/give-back"

    for consumer, messages in (("", 0), ("link", 0), ("link 7", 2), ("link 7", 0)):
        told = post(bridge, where, {"consumer": consumer}).json()
        assert told == {"messages": messages}, consumer

    _, again = get(bridge, limit=10, consumer="link 7")
    assert again == first
    assert problem(send(bridge, f"branches/{lost}/accept"), 409)["code"] == "lock-lost"
    assert {one.backout_count for one in Ready.objects.all()} <= {0}
    assert post(bridge, "branches/x/commit", {}).status_code == 200


def test_who_may_not_get_finds_no_queue(orders: Queue) -> None:
    client = machine("putter", may_get=False)

    for where in ("branch", "branches/give-back"):
        problem(post(client, f"queues/orders/{where}", {}), 403)
        problem(post(client, f"queues/nowhere/{where}", {}), 404)


def test_what_is_masked_for_a_person_is_not_given_in_a_branch(
    orders: Queue, sign_in: SignIn
) -> None:
    make_redaction("names", "property", "name")
    put("orders", properties={"name": "Ada"})
    omar = sign_in("operator")

    told = problem(post(omar, "queues/orders/branch", {}), 403)

    assert told["code"] == "masked-message"
    assert ready(orders) == 1


def test_a_key_gives_the_same_branch_again(bridge: Client, orders: Queue) -> None:
    put_many(make_messages(2))

    first, second = (
        post(bridge, "queues/orders/branch", {"limit": 1}, **{"Idempotency-Key": "k"})
        for _ in range(2)
    )

    assert first.content == second.content
    assert second["Content-Type"] == batches.CONTENT_TYPE
    assert ready(orders) == 1
