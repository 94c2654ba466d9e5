"""Operations over the API: planned on a filter, started, steered, and told."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker import operations
from broker.models import Operation, OperationSchedule, Queue
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.letters import attempt, die, make_places
from tests.console.operations.ordering import many
from tests.make import make_user

ERROR = "ValueError: row 7 is bad"


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places()


@pytest.fixture
def operator(orders: Queue, sign_in: SignIn) -> Client:
    return sign_in("operator")


def post(client: Client, where: str, **body: object) -> Any:
    return client.post(f"{ROOT}/{where}", body, content_type="application/json")


def planned(client: Client, **wish: object) -> dict[str, Any]:
    answer = post(client, "operations", kind="resubmit", filter=["state:dead"], **wish)
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def test_a_resubmit_is_planned_tried_and_told(operator: Client) -> None:
    many(120)
    told = planned(operator)
    assert (told["state"], told["planned"], told["scope"]) == (
        "planned",
        120,
        "all messages matching “state:dead”",
    )
    assert (told["schedule"]["canary"], told["schedule"]["pace"]) == (10, None)
    where = f"operations/{told['id']}"

    assert problem(post(operator, f"{where}/start"), 400)["code"] == "reason-missing"
    told = post(operator, f"{where}/start", reason="it is mended").json()
    assert (told["state"], told["done"], told["schedule"]["stage"]) == (
        "running",
        10,
        "watch",
    )

    for _ in range(3):
        attempt(ERROR)
    operations.step(told["id"])
    told = operator.get(f"{ROOT}/{where}").json()
    assert told["schedule"]["stage"] == "halted"
    stop = told["schedule"]["stop"]
    assert (stop["why"], stop["messages"], stop["tried"]) == ("again", 3, 10)
    assert told["outcomes"] == {
        "processed": 0,
        "dead": 3,
        "expired": 0,
        "taken": 0,
        "unknown": 0,
        "open": 7,
    }

    told = post(operator, f"{where}/continue").json()
    assert told["schedule"]["stage"] == "trial"
    told = post(operator, f"{where}/cancel").json()
    assert told["state"] == "cancelled"


def test_it_is_paced_paused_and_goes_on(operator: Client) -> None:
    many(50)
    told = planned(operator, pace=5, canary=0)
    where = f"operations/{told['id']}"
    assert post(operator, f"{where}/start").json()["done"] == 5

    told = post(operator, f"{where}/pause").json()
    assert told["schedule"]["paused_at"] is not None
    told = post(operator, f"{where}/pace", pace=7).json()
    assert told["schedule"]["pace"] == 7
    told = post(operator, f"{where}/continue", at_once=True).json()
    assert told["schedule"]["paused_at"] is None
    assert operations.step(told["id"]) == 7
    assert post(operator, f"{where}/pace", pace=None).json()["schedule"]["pace"] is None


@pytest.mark.parametrize(("only", "count"), [({"first": 2}, 2), ({"sample": 3}, 3)])
def test_only_so_many_are_planned(
    operator: Client, only: dict[str, int], count: int
) -> None:
    many(5)
    assert planned(operator, **only)["planned"] == count


def test_what_is_above_the_ceiling_is_told_and_taken_in(operator: Client) -> None:
    die()
    Queue.objects.update(max_resubmits=1)
    first = planned(operator)
    post(operator, f"operations/{first['id']}/start")
    for _ in range(2):
        attempt(ERROR)

    told = planned(operator)

    assert (told["planned"], told["left_out"]) == (0, 1)
    where = f"operations/{told['id']}"
    items = operator.get(f"{ROOT}/{where}/items", {"status": "left_out"}).json()
    assert [one["status"] for one in items["items"]] == ["left_out"]
    assert problem(post(operator, f"{where}/ceiling"), 400)["code"] == "reason-missing"
    told = post(operator, f"{where}/ceiling", reason="mended").json()
    assert (told["planned"], told["left_out"]) == (1, 0)


@pytest.mark.parametrize(
    "wish",
    [
        {"pace": 0},
        {"canary": 1001},
        {"first": 0},
        {"kind": "purge"},
        {"filter": []},
        {"queue": "\0"},
    ],
)
def test_what_cannot_be_is_refused(operator: Client, wish: dict[str, object]) -> None:
    body = {"kind": "resubmit", "filter": ["state:dead"]} | wish
    assert problem(post(operator, "operations", **body), 422)
    assert not Operation.objects.exists()


def test_what_finds_nothing_is_no_plan(operator: Client) -> None:
    answer = post(operator, "operations", kind="resubmit", filter=["state:dead"])
    assert problem(answer, 409)["code"] == "not-resubmittable"
    answer = post(operator, "operations", kind="resubmit", filter=["sate:dead"])
    assert problem(answer, 400)["code"] == "invalid-filter"


def test_who_may_not_send_there_plans_nothing(client: Client, orders: Queue) -> None:
    die()
    permissions = ("broker.view_queue", "broker.resubmit_message")
    user = make_user(permissions=permissions, granted=("inquire", "browse", "get"))
    client.force_login(user)

    answer = post(client, "operations", kind="resubmit", filter=["state:dead"])

    assert problem(answer, 403)["code"] == "not-authorized"
    assert not Operation.objects.exists()


@pytest.mark.parametrize(
    "where", ["", "/1/start", "/1/pause", "/1/continue", "/1/pace", "/1/ceiling"]
)
def test_a_viewer_orders_nothing(orders: Queue, sign_in: SignIn, where: str) -> None:
    body = {"kind": "resubmit", "filter": ["state:dead"]} if not where else {}
    answer = post(sign_in("viewer"), f"operations{where}", **body)
    assert problem(answer, 403)["code"] == "not-permitted"


def test_what_does_not_run_is_not_steered(operator: Client) -> None:
    die()
    told = planned(operator)
    answer = post(operator, f"operations/{told['id']}/pause")
    assert problem(answer, 409)["code"] == "operation-not-planned"
    assert OperationSchedule.objects.get().paused_at is None
    assert problem(post(operator, "operations/999999/pause"), 404)
