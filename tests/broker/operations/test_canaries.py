"""When an operation may go on after what it tried, and at what it stops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.operations import InvalidCanary
from broker.models import Operation
from broker.operations import canary as canaries
from broker.operations.canary import Halt, StopReason, Watch, judge, next_part
from broker.operations.error_history import Cause
from tests.make import minutes, seconds

KNOWN = {"old", "older"}
PATIENCE = minutes(5)


def watch(**counts: Any) -> Watch:
    nothing: dict[str, Any] = {
        "untouched": 0,
        "under_way": 0,
        "processed": 0,
        "expired": 0,
        "others": 0,
        "deaths": {},
    }
    return Watch(**nothing | counts)


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ({"processed": 10}, True),
        ({}, True),  # all of them were skipped
        ({"processed": 9, "untouched": 1}, False),
        ({"processed": 9, "under_way": 1}, False),
        ({"others": 10}, True),  # somebody took them away
        ({"processed": 1, "expired": 9}, True),
        # Of what they had died of, the third is too many.
        ({"processed": 9, "deaths": {"old": 1}}, True),
        ({"processed": 8, "deaths": {"old": 2}}, True),
        ({"processed": 7, "deaths": {"old": 3}}, (StopReason.AGAIN, 3, 10, "old")),
        ({"untouched": 7, "deaths": {"old": 3}}, (StopReason.AGAIN, 3, 10, "old")),
        ({"processed": 6, "deaths": {"old": 2, "older": 2}}, True),
        ({"deaths": {"old": 2}}, (StopReason.AGAIN, 2, 2, "old")),
        ({"deaths": {"old": 1}}, (StopReason.AGAIN, 1, 1, "old")),
        # Of anything else, the first; and it is said before what is known.
        ({"processed": 9, "deaths": {"other": 1}}, (StopReason.NEW, 1, 10, "other")),
        ({"untouched": 9, "deaths": {"other": 1}}, (StopReason.NEW, 1, 10, "other")),
        ({"deaths": {"old": 5, "other": 2}}, (StopReason.NEW, 2, 7, "other")),
        ({"expired": 10}, (StopReason.EXPIRED, 10, 10, "")),
    ],
)
def test_the_gate(
    seen: dict[str, Any], found: bool | tuple[StopReason, int, int, str]
) -> None:
    halt = judge(watch(**seen), KNOWN, seconds(1), PATIENCE)
    if isinstance(found, bool):
        assert halt is found
    else:
        assert halt == Halt(*found)


@pytest.mark.parametrize(
    ("seen", "waited", "found"),
    [
        ({"untouched": 10}, 299, False),
        ({"untouched": 10}, 300, Halt(StopReason.UNTAKEN, 10, 10)),
        ({"untouched": 2, "processed": 8}, 300, Halt(StopReason.UNTAKEN, 2, 10)),
        # Somebody works on it: that is waited for as long as it takes.
        ({"untouched": 9, "under_way": 1}, 3600, False),
        ({"under_way": 1, "processed": 9}, 3600, False),
        ({"processed": 10}, 3600, True),
    ],
)
def test_patience(seen: dict[str, Any], waited: float, found: Halt | bool) -> None:
    assert judge(watch(**seen), KNOWN, seconds(waited), PATIENCE) == found


@pytest.mark.parametrize(
    ("canary", "parts"),
    [
        (10, [10, 30, 90, 270]),
        (1, [1, 3, 9, 27, 81, 243]),
        (100, [100, 300]),
        (1000, [1000]),
    ],
)
def test_parts_grow_until_too_many_would_have_to_be_watched(
    canary: int, parts: list[int]
) -> None:
    tried = [canary]
    while more := next_part(tried[-1], sum(tried)):
        tried.append(more)
    assert tried == parts


@given(st.integers(1, canaries.WATCHED))
def test_no_more_are_tried_than_can_be_watched(canary: int) -> None:
    part, tried = canary, canary
    while part := next_part(part, tried):
        tried += part
    assert tried <= canaries.WATCHED


@pytest.mark.parametrize("canary", [-1, 1001])
def test_what_is_no_canary_is_refused(canary: int) -> None:
    with pytest.raises(InvalidCanary):
        canaries.check(canary)


def test_a_halt_is_read_as_it_was_stored() -> None:
    halt = Halt(StopReason.AGAIN, 3, 10, "0123456789ab", "no such customer {n}")
    assert canaries.read(halt.stored()) == halt


@pytest.mark.parametrize(
    ("kind", "messages", "has_consumers", "canary"),
    [
        (Operation.Kind.RESUBMIT, 101, False, 10),
        (Operation.Kind.RESUBMIT, 100, False, 0),
        (Operation.Kind.MOVE, 101, True, 10),
        (Operation.Kind.MOVE, 101, False, 0),
        (Operation.Kind.COPY, 101, True, 0),
        (Operation.Kind.REMOVE, 101, True, 0),
    ],
)
def test_what_is_usual(
    kind: Operation.Kind, messages: int, has_consumers: bool, canary: int
) -> None:
    operation = Operation(kind=kind)
    found = canaries.usual(
        operation, messages, [], has_consumers=has_consumers, has_patch=False
    )
    assert found == canary


@pytest.mark.parametrize(
    ("of_each", "known", "has_patch", "canary"),
    [
        ([1], (0, 0), False, 0),  # nothing would be left to send
        ([2], (0, 0), False, 1),
        ([12], (0, 0), False, 2),
        ([98], (0, 0), False, 10),
        ([98], (0, 10), False, 10),  # the last canary died
        ([98], (9, 0), False, 10),
        ([98], (10, 0), False, 0),  # the cause is removed
        ([98], (500, 1), False, 10),
        ([98], (10, 0), True, 10),  # nobody tried the patch
        ([1, 1, 1], (0, 0), False, 0),
        ([1, 1, 1], (0, 0), True, 1),
        ([40, 1], (0, 0), False, 5),
        ([101], (500, 0), False, 10),
    ],
)
def test_what_is_known_of_a_cause_says_how_many_are_tried_first(
    of_each: list[int], known: tuple[int, int], has_patch: bool, canary: int
) -> None:
    operation = Operation(kind=Operation.Kind.RESUBMIT)
    causes = [Cause("", "", number, 0, *known, None) for number in of_each]
    found = canaries.usual(
        operation, sum(of_each), causes, has_consumers=True, has_patch=has_patch
    )
    assert found == canary


def test_an_undo_tries_nothing_first() -> None:
    undo = Operation(kind=Operation.Kind.RESUBMIT, undoes_id=1)
    found = canaries.usual(undo, 1000, [], has_consumers=True, has_patch=True)
    assert found == 0
