"""Prepared branches over the API: which wait, and who decides."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker.models import (
    Act,
    AuditRecord,
    PreparedPut,
    Queue,
    Ready,
    UnitOfWork,
)
from broker.queueing.put import put
from tests.broker.promising import promise, ready
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.messages.branching import get, machine, of, post, send
from tests.make import make_queue

pytestmark = pytest.mark.django_db

WHY = {"reason": "compared with the other side"}


@pytest.fixture
def booked() -> Queue:
    return make_queue("booked")


@pytest.fixture
def bridge(orders: Queue, booked: Queue) -> Client:
    """A machine that gets and puts on two queues."""
    return machine("bridge")


@pytest.mark.parametrize(("said", "backouts"), [({}, 1), ({"failed": False}, 0)])
def test_a_prepared_branch_is_backed_out(
    bridge: Client, orders: Queue, booked: Queue, said: dict[str, Any], backouts: int
) -> None:
    put("orders")
    branch, _ = get(bridge)
    send(bridge, f"branches/{branch}/prepare?xid=x", of(b"a"))

    assert post(bridge, "branches/x/back-out", said).status_code == 200

    assert Ready.objects.get().backout_count == backouts
    assert (ready(orders), ready(booked)) == (1, 0)
    assert not PreparedPut.objects.exists()
    assert not UnitOfWork.objects.exists()


@pytest.mark.parametrize("end", ["commit", "back-out"])
def test_what_is_not_prepared_any_more_is_told(bridge: Client, end: str) -> None:
    told = problem(post(bridge, f"branches/x/{end}", {}), 404)
    assert told["code"] == "no-such-xid"


def test_an_xid_is_for_who_prepared_it(bridge: Client, booked: Queue) -> None:
    other = machine("other")
    send(bridge, "branches/prepare?xid=x", of(b"a"))
    (stored,) = UnitOfWork.objects.values_list("xid", flat=True)

    for xid in ("x", stored):
        for end in ("commit", "back-out"):
            told = problem(post(other, f"branches/{xid}/{end}", {}), 404)
            assert told["code"] == "no-such-xid"
    assert other.get(f"{ROOT}/branches").json() == {"xids": []}
    send(other, "branches/prepare?xid=x", of(b"b"))  # the same name is another's, too
    post(other, "branches/x/commit", {})

    assert bridge.get(f"{ROOT}/branches?prefix=x").json() == {"xids": ["x"]}
    assert bridge.get(f"{ROOT}/branches?prefix=y").json() == {"xids": []}
    assert ready(booked) == 1


def test_an_operator_decides_in_the_place_of_a_coordinator_and_says_why(
    bridge: Client, booked: Queue, sign_in: SignIn
) -> None:
    send(bridge, "branches/prepare?xid=x", of(b"a"))
    send(bridge, "branches/prepare?xid=y", of(b"a"))
    omar = sign_in("operator")
    one, other = (one["uow"] for one in omar.get(f"{ROOT}/health").json()["prepared"])

    assert problem(post(omar, f"prepared/{one}/commit", {}), 400)["code"] == (
        "reason-missing"
    )
    assert post(omar, f"prepared/{one}/commit", WHY).status_code == 200
    assert post(omar, f"prepared/{other}/back-out", WHY).status_code == 200

    assert ready(booked) == 1
    acts = AuditRecord.objects.order_by("pk").values_list("act", "reason")
    assert list(acts)[-2:] == [
        (Act.COMMIT_PREPARED, WHY["reason"]),
        (Act.BACK_OUT_PREPARED, WHY["reason"]),
    ]


def test_who_only_looks_decides_nothing(
    bridge: Client, booked: Queue, sign_in: SignIn
) -> None:
    send(bridge, "branches/prepare?xid=x", of(b"a"))
    (uow, stored) = UnitOfWork.objects.values_list("pk", "xid").get()
    vera = sign_in("viewer")

    answer = post(vera, f"prepared/{uow}/commit", WHY)

    assert problem(answer, 403)["code"] == "not-permitted"
    problem(post(vera, f"branches/{stored}/commit", {}), 404)
    assert UnitOfWork.objects.exists()


def test_other_prepared_units_of_work_are_no_machine_s(
    bridge: Client, orders: Queue
) -> None:
    make_queue("answers")
    promise("xa", entries=0)

    problem(post(bridge, "branches/xa/commit", {}), 404)
    assert UnitOfWork.objects.filter(xid="xa").exists()
