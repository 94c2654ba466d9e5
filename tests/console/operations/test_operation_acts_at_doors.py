"""Acts on operations at each door: what is theirs alone, and the same answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from broker.acts import act
from broker.acts.operations.control import PaceOperation, StartOperation, UndoOperation
from broker.acts.operations.patches import DropPatch
from broker.errors.acts import NoPerson
from broker.models import Operation, OperationPatch
from broker.security import authorities
from console.accounts import roles
from tests.console.act_doors import DECLARED, refusals, through_command, through_rest
from tests.console.commanding import run
from tests.console.operations.acts_operations import EXAMPLES
from tests.make import make_user

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
    assert told["course"]["pace"] == 7
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

    assert (told["state"], told["course"]["pace"]) == ("done", 7)
    assert command(user, UndoOperation(number))["undoes"] == number
