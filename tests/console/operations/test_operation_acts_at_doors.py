"""Acts on operations at each door: what is theirs alone, and the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from broker.acts import act
from broker.acts.operations.control import PaceOperation, StartOperation, UndoOperation
from broker.acts.operations.patches import DropPatch
from broker.errors.acts import NoPerson
from broker.models import Operation, OperationPatch
from broker.queueing.put import put
from broker.security import authorities
from console.accounts import roles
from tests.console.act_doors import DECLARED, refusals, through_command, through_rest
from tests.console.commanding import refused, run
from tests.console.letters import die, make_places
from tests.console.operations.acts_operations import EXAMPLES
from tests.make import make_queue, make_user

DIGITS = '{"body":{"merge":{"price":12345678901234567890.10}}}'
pytestmark = pytest.mark.django_db


def plan_and_operator() -> tuple[int, User]:
    number = EXAMPLES["start_operation"].make()["operation"]
    return number, make_user("olga", permissions=tuple(roles.OPERATOR))


def command(user: User, request: Any) -> Any:
    return json.loads(through_command(user, request))


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_each_of_its_permissions_is_needed(name: str) -> None:
    example, one = EXAMPLES[name], DECLARED[name]
    request = example.request(**example.make())
    for number, lacking in enumerate(one.permissions):
        held = tuple(other for other in one.permissions if other != lacking)
        user = make_user(f"vera{number}", permissions=held)
        answers = list(refusals(user, example, request))
        assert [answer.status for answer in answers] == [403, 403, 1]
        assert all(f"permission {lacking} is missing" in one.said for one in answers)


@pytest.mark.parametrize(
    "name", ["start_operation", "approve_operation", "take_in_messages"]
)
def test_a_reason_that_is_too_long(name: str) -> None:
    example = EXAMPLES[name]
    request = example.request(**{**example.make(), "reason": "x" * 501})
    user = make_user(
        "vera", permissions=DECLARED[name].permissions, granted=authorities.ALL
    )
    before = list(Operation.objects.values())

    told = {answer.door: answer for answer in refusals(user, example, request)}

    assert (told["REST"].status, told["command"].status) == (422, 1)
    assert "500 characters" in told["REST"].said
    assert "500 characters" in told["command"].said
    assert list(Operation.objects.values()) == before


def test_the_doors_answer_alike() -> None:
    number, user = plan_and_operator()
    request = PaceOperation(number, pace=7)

    told = through_rest(user, request).json()

    assert told == command(user, request)
    assert told["schedule"]["pace"] == 7
    assert told == json.loads(run("operation", "show", number, "--json"))
    assert [way["messages"] for way in told["ways"]] == [1]


def test_a_patch_is_given_and_dropped_with_the_same_answers() -> None:
    example = EXAMPLES["set_patch"]
    request = example.request(**{**example.make(), "patch": DIGITS})
    user = make_user("olga", permissions=tuple(roles.OPERATOR))

    told = through_rest(user, request).json()

    assert told == command(user, request)
    assert (told["is_complete"], told["fits"], told["left"]) == (True, 1, [])
    assert OperationPatch.objects.get().document == DIGITS
    dropped = command(user, DropPatch(request.operation))
    assert (dropped["messages"], dropped["preview"]) == (1, None)
    assert through_rest(user, DropPatch(request.operation)).json() == dropped


def test_a_process_without_a_user_starts_nothing() -> None:
    number, _ = plan_and_operator()
    with pytest.raises(NoPerson):
        act(None, StartOperation(number))


def test_the_pace_of_a_plan_stays_where_a_start_gives_the_trial() -> None:
    number, user = plan_and_operator()
    through_rest(user, PaceOperation(number, pace=7))

    told = command(user, StartOperation(number, canary=0))

    assert (told["state"], told["schedule"]["pace"]) == ("done", 7)
    assert command(user, UndoOperation(number))["undoes"] == number


def scope_of(*words: object, user: str = "olga") -> tuple[str, int]:
    """What a command plans: the set in words, and how many messages it has."""
    plan = json.loads(run("operation", "plan", *words, "--user", user, "--json"))
    return plan["scope"], plan["planned"]


def test_each_way_to_choose_messages_is_one_for_commands() -> None:
    make_places()
    make_queue("aside")
    make_user("olga", permissions=tuple(roles.OPERATOR))
    letter = die()
    first, second = put("orders").message_id, put("orders").message_id
    move = ("move", "--queue", "aside")

    assert scope_of(*move, "--source", "orders", "--selector", "JMSPriority = 4") == (
        "all messages on orders, with “JMSPriority = 4”",
        2,
    )
    assert scope_of(*move, "--source", "orders", "--messages", first) == (
        f"message {first} on orders",
        1,
    )
    named = ("--entries", f"{first}@orders", "--entries", f"{second}@orders")
    assert scope_of(*move, *named) == ("2 chosen messages", 2)
    assert scope_of(*move, "--filter", "queue:orders")[1] == 2
    letters = ("--letters", "origin_queue=orders", "--letters", f"cause={letter.cause}")
    assert scope_of("resubmit", *letters)[1] == 1
    for wrong in ("cause=WEARY", "queues=orders", "orders"):
        assert refused("operation", "plan", "remove", "--letters", wrong)[0] == 2
    for words in (
        ("--place", "ready"),
        ("--filter", "queue:orders", "--source", "orders"),
        ("--entries", letter.message_id),
        (),
    ):
        code, _ = refused("operation", "plan", "remove", *words, "--user", "olga")
        assert code == 1, words


def test_a_repair_is_planned_by_command(tmp_path: Path) -> None:
    make_places()
    die(body=b'{"price": 1}', content_type="application/json")
    make_user("olga", permissions=tuple(roles.OPERATOR))
    patch = tmp_path / "patch.json"
    patch.write_text('{"body": {"merge": {"price": 12345678901234567890.10}}}')
    order = ("operation", "resubmit", "-f", "queue:DLQ", "--patch", patch)

    planned = run(*order, "--user", "olga")

    assert "The patch fits 1 of 1 looked at." in planned
    assert "12345678901234567890.10" in OperationPatch.objects.get().document
