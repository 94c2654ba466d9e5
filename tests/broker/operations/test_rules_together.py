"""Passes among operators, other workers, and processes that die."""

from __future__ import annotations

import pytest

from broker import operations
from broker.models import Operation, OperationItem, RuleAttempt, RulePass
from broker.monitoring import fsck
from broker.operations import Outcome, rules
from broker.operations.rules import Mode
from tests.broker.dying import make_dead_letters, on, operator, plan
from tests.broker.elsewhere import Elsewhere, kill, process, said
from tests.make import NOON, make_authority

pytestmark = pytest.mark.usefixtures("transactional_db")

Status = OperationItem.Status
KILLED = """
from django.db import transaction
from broker.operations import rules
with transaction.atomic():
    rules.run({table})
    print("did it", flush=True)
    sys.stdin.read()
"""


def active(text: str = "ACTION(RETRY)") -> int:
    make_authority(operator(), "inquire", "get", "put")
    rules.save("DLQ", text, operator(), now=NOON)
    return rules.switch("DLQ", Mode.ACTIVE, operator(), now=NOON).pk


def notes(operation: Operation) -> list[tuple[str, str]]:
    items = OperationItem.objects.filter(operation=operation).order_by("pk")
    return list(items.values_list("status", "note"))


@pytest.mark.thorough
def test_what_an_operator_is_just_sending_back_is_not_sent_twice(
    elsewhere: Elsewhere,
) -> None:
    make_dead_letters(2)
    table, ordered = active(), plan()
    elsewhere.begin()
    elsewhere(operations.start, ordered.pk, limit=1)

    rules.run(table)

    elsewhere.commit()
    while operations.step(ordered.pk):
        pass
    mine = Operation.objects.exclude(pk=ordered.pk).get()
    assert notes(mine) == [(Status.SKIPPED, Outcome.BUSY.sentence), (Status.DONE, "")]
    assert notes(ordered) == [
        (Status.DONE, ""),
        (Status.SKIPPED, Outcome.GONE.sentence),
    ]
    assert len(on("orders")) == 2
    assert RuleAttempt.objects.count() == 1, "what somebody else had was not tried on"
    assert fsck.violations() == []


def test_what_rules_are_just_sending_back_is_not_sent_by_an_operator(
    elsewhere: Elsewhere,
) -> None:
    make_dead_letters(2)
    table, ordered = active(), plan()
    elsewhere.begin()
    elsewhere(rules.run, table)

    operations.start(ordered.pk)

    elsewhere.commit()
    assert [status for status, _ in notes(ordered)] == [Status.SKIPPED] * 2
    assert len(on("orders")) == 2
    assert on("DLQ") == []
    assert fsck.violations() == []


def test_of_two_passes_at_once_one_does_nothing(elsewhere: Elsewhere) -> None:
    make_dead_letters(2)
    table = active()
    elsewhere.begin()
    assert elsewhere(rules.run, table) == 2

    assert rules.run(table) == 0

    elsewhere.commit()
    assert len(on("orders")) == 2
    assert RulePass.objects.count() == 1


def test_a_pass_that_is_killed_has_done_nothing_and_the_next_does_all() -> None:
    letters = make_dead_letters(3)
    table = active()
    with process(KILLED.format(table=table)) as other:
        assert said(other) == "did it"
        kill(other)

    assert not RulePass.objects.exists()
    assert not Operation.objects.exists()
    assert not RuleAttempt.objects.exists()
    assert fsck.violations() == []

    assert on("DLQ") == letters
    assert rules.run(table) == 3

    assert len(on("orders")) == 3
    assert RulePass.objects.get().deeds[0]["done"] == 3
    assert fsck.violations() == []
