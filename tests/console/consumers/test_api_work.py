"""Messages that wait, are held or were discarded, over the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from broker.models import Act, Discarded, Message, Operation, Queue, Ready, UnitOfWork
from broker.queueing.put import put, put_many
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork as Work
from console.accounts import roles
from tests.broker.handling import stopped
from tests.console.conftest import SignIn
from tests.console.consumers.api_work_acts import held
from tests.console.dead_letters.test_discards import throw_away
from tests.console.edges.test_api import ROOT, problem
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_messages, make_queue, make_recurring, make_user, minutes

pytestmark = pytest.mark.django_db

WHY = {"reason": "its host is gone"}
DLQ = settings.BROKER_DEAD_LETTER_QUEUE


def post(client: Client, where: str, body: Any, **more: Any) -> Any:
    json = "application/json"
    return client.post(f"{ROOT}/{where}", body, content_type=json, **more)


def narrowed(client: Client, *granted: Any) -> Client:
    """Somebody with all permissions of an operator, and these authorities."""
    user = make_user("vera", permissions=tuple(roles.OPERATOR), granted=granted)
    client.force_login(user)
    return client


def test_units_of_work_are_told_with_what_becomes_of_their_messages(
    sign_in: SignIn,
) -> None:
    make_places(attempts=1)
    message_id = put("orders").message_id
    work = Work(actor="shop.handle")
    work.get("orders")
    client = sign_in("viewer")

    (listed,) = client.get(f"{ROOT}/units-of-work").json()["units"]
    told = client.get(f"{ROOT}/units-of-work/{work.id}").json()

    assert (listed["id"], listed["nature"]) == (work.id, "leased")
    assert (listed["actor"], listed["messages"]) == ("shop.handle", 1)
    assert (listed["queues"], listed["hidden_queues"]) == (["orders"], 0)
    assert told["can_back_out"] is True
    (one,) = told["held"]
    assert (one["message_id"], one["queue"]) == (message_id, "orders")
    assert one["expected"] == "Dead letter on DLQ, after attempt 1 of 1."
    other = client.get(f"{ROOT}/units-of-work/{work.id}", {"ending": "lost"}).json()
    assert (told["ending"], other["ending"]) == ("back_out", "lost")
    assert problem(client.get(f"{ROOT}/units-of-work/999999"), 404)


def test_units_of_work_come_in_pages(sign_in: SignIn) -> None:
    make_queue()
    put_many(make_messages(3))
    for _ in range(3):
        Work().get("orders")
    client = sign_in("viewer")

    first = client.get(f"{ROOT}/units-of-work", {"limit": 2}).json()
    where = {"limit": 2, "after": first["next"]}
    second = client.get(f"{ROOT}/units-of-work", where).json()

    assert [len(first["units"]), len(second["units"])] == [2, 1]
    assert second["next"] is None


def test_one_is_backed_out_once_and_it_is_written_down(sign_in: SignIn) -> None:
    uow = held()
    client = sign_in("operator")
    where, key = f"units-of-work/{uow}/back-out", {"Idempotency-Key": "k"}

    first = post(client, where, WHY, headers=key)
    again = post(client, where, WHY, headers=key)

    assert (first.json(), again.json()) == ({"id": uow}, {"id": uow})
    assert again["Idempotency-Replayed"] == "true"
    assert Ready.objects.get().backout_count == 1
    assert not UnitOfWork.objects.filter(pk=uow).exists()
    (deed,) = deeds(Act.BACK_OUT_UNIT)
    assert deed.actor == "operator"
    assert deed.reason.endswith(WHY["reason"])
    assert problem(post(client, where, WHY), 404)["code"] == "no-such-unit-of-work"


def test_backing_one_out_takes_a_reason_a_permission_and_an_authority(
    sign_in: SignIn, client: Client
) -> None:
    where = f"units-of-work/{held()}/back-out"

    assert problem(post(sign_in("operator"), where, {"reason": ""}), 400)
    told = problem(post(sign_in("viewer"), where, WHY), 403)
    assert told["code"] == "not-permitted"
    told = problem(post(narrowed(client, "inquire"), where, WHY), 403)
    assert told["code"] == "not-authorized"
    assert UnitOfWork.objects.exists()


def test_what_is_prepared_is_left_to_its_coordinator(sign_in: SignIn) -> None:
    make_queue()
    put("orders")
    work = Work(coordinated=True)
    work.get("orders")
    prepare(work, "xid 7")
    client = sign_in("operator")

    told = problem(post(client, f"units-of-work/{work.id}/back-out", WHY), 409)

    assert told["code"] == "not-forced"
    told = client.get(f"{ROOT}/units-of-work/{work.id}").json()
    assert (told["nature"], told["xid"]) == ("prepared", "xid 7")
    assert told["can_back_out"] is False


def test_the_discard_bin_comes_in_pages(sign_in: SignIn) -> None:
    ids = throw_away(3)
    client = sign_in("viewer")

    first = client.get(f"{ROOT}/discards", {"limit": 2}).json()
    where = {"limit": 2, "before": first["next"]}
    second = client.get(f"{ROOT}/discards", where).json()

    rows = first["discards"] + second["discards"]
    assert [one["message_id"] for one in rows] == sorted(ids, reverse=True)
    assert second["next"] is None
    assert {one["queue"] for one in rows} == {"lossy"}
    assert {one["obstacle"] for one in rows} == {""}
    assert client.get(f"{ROOT}/discards", {"queue": "x"}).json()["discards"] == []
    told = problem(client.get(f"{ROOT}/discards", {"before": "x"}), 422)
    assert told["code"] == "invalid-request"


def test_messages_are_restored_and_those_that_are_not_there_are_told(
    sign_in: SignIn,
) -> None:
    first, second = throw_away(2)
    said = WHY | {"messages": [first, 987_654]}

    told = post(sign_in("operator"), "discards/restore", said).json()

    assert told["restored"] == 1
    by_id = {one["message_id"]: one for one in told["messages"]}
    assert by_id[first] == {"message_id": first, "code": "", "detail": ""}
    assert by_id[987_654]["code"] == "not-in-discard-bin"
    assert Ready.objects.get().id == first
    assert Discarded.objects.get().message_id == second
    (deed,) = deeds(Act.RESTORE)
    assert (deed.actor, deed.reason) == ("operator", WHY["reason"])


def test_restoring_takes_the_authority_to_put(sign_in: SignIn, client: Client) -> None:
    said = {"messages": throw_away()}

    assert problem(post(sign_in("viewer"), "discards/restore", said), 403)
    told = post(narrowed(client, "inquire"), "discards/restore", said).json()

    assert told["restored"] == 0
    assert told["messages"][0]["code"] == "not-authorized"
    assert Discarded.objects.exists()
    told = problem(post(client, "discards/restore", {}), 422)
    assert "Give either messages or the fingerprint" in told["detail"]


def test_delayed_messages_come_in_pages(sign_in: SignIn) -> None:
    make_queue()
    make_queue("invoices")
    now = timezone.now()
    for number, queue in enumerate(("orders", "invoices", "orders"), 1):
        put(queue, deliver_at=now + minutes(number))
    client = sign_in("viewer")

    first = client.get(f"{ROOT}/scheduled", {"limit": 2}).json()
    where = {"limit": 2, "after": first["next"]}
    second = client.get(f"{ROOT}/scheduled", where).json()

    rows = first["messages"] + second["messages"]
    assert [one["queue"] for one in rows] == ["orders", "invoices", "orders"]
    assert {(one["is_redelivery"], one["attempt"]) for one in rows} == {(False, 1)}
    assert second["next"] is None
    only = client.get(f"{ROOT}/scheduled", {"queue": "orders"}).json()
    assert len(only["messages"]) == 2
    assert problem(client.get(f"{ROOT}/scheduled", {"after": "x"}), 422)


def test_recurring_messages_are_listed_and_put(sign_in: SignIn) -> None:
    make_queue()
    make_recurring("night run")
    client = sign_in("operator")

    (told,) = client.get(f"{ROOT}/recurring-messages").json()["recurring"]
    put_now = post(client, "recurring-messages/night~20run/put", WHY).json()

    assert (told["name"], told["address"]) == ("night run", "orders")
    assert told["is_enabled"] is True
    assert put_now["queues"] == ["orders"]
    assert bytes(Message.objects.get(pk=put_now["message_id"]).body) == b"tick"
    assert problem(post(client, "recurring-messages/none/put", {}), 404)
    assert problem(post(sign_in("viewer"), "recurring-messages/none/put", {}), 403)


def test_stopped_delivery_is_told_and_started(sign_in: SignIn) -> None:
    stopped()
    client = sign_in("operator")

    told = client.get(f"{ROOT}/consumers").json()
    refused = problem(post(client, "queues/orders/start-delivery", {}), 409)
    make_queue(DLQ)
    started = post(client, "queues/orders/start-delivery", {}).json()
    again = post(client, "queues/orders/start-delivery", {}).json()

    (one,) = told["stopped"]
    assert (one["queue"], one["waiting"], one["may_start"]) == ("orders", 1, True)
    assert DLQ in one["remedy"]
    assert [row["queue"] for row in told["running"]] == ["orders"]
    assert refused["code"] == "cause-remains"
    assert (started["changed"], again["changed"]) == (True, False)
    assert not Queue.objects.get(name="orders").stopped
    (ended,) = client.get(f"{ROOT}/consumers").json()["ended"]
    assert ended["cleared_by"] == "operator"
    assert len(deeds(Act.START_DELIVERY)) == 1


def test_a_plan_is_narrowed_and_explained(sign_in: SignIn) -> None:
    make_places(attempts=1)
    for _ in range(3):
        die(attempts=1)
    Queue.objects.filter(name="DLQ").update(approval_above=0)
    client = sign_in("operator")
    plan = post(client, "operations", {"kind": "resubmit", "letters": {}}).json()
    where = f"operations/{plan['id']}"

    told = post(client, f"{where}/narrow", {"messages": 2}).json()
    explained = post(client, f"{where}/explain", {"reason": " stock came "}).json()

    assert (plan["planned"], told["planned"]) == (3, 2)
    assert explained["reason"] == "stock came"
    assert Operation.objects.get().reason == "stock came"
    assert problem(post(client, f"{where}/narrow", {"messages": 0}), 422)
    assert problem(post(sign_in("viewer"), f"{where}/narrow", {"messages": 1}), 403)


def test_all_queues_have_a_history_together(sign_in: SignIn) -> None:
    make_queue()
    client = sign_in("viewer")

    for of in ("queues", "consumers"):
        asked = {"range": "15m", "of": of}
        told = client.get(f"{ROOT}/history", asked).json()
        assert set(told) == {"begin", "end", "step_s", "points"}
        assert len(told["points"]) <= 180
