"""Rules and letters that programs put on a dead letter queue themselves."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.models import Discarded, Message, Queue, RulePass
from broker.monitoring import fsck
from broker.operations import rules
from broker.operations.rules import Mode
from broker.queueing.put import put
from tests.broker.dying import back_out, make_dead_letters, on
from tests.broker.operations.test_rules_passes import ada, run, write
from tests.make import NOON, make_queue, make_setting

__all__ = ["ada"]  # a fixture

HEADER = DeadLetterHeader(
    reason=2053, dest_q_name="orders", format="MQSTR", coded_char_set_id=819
).to_bytes()
AS_IT_SAYS = "REASON(MQRC_Q_FULL) DESTQ('orders') FORMAT(MQSTR)"


@pytest.fixture
def dlq(db: None) -> Queue:
    make_queue("orders")
    make_queue("bills")
    return make_queue("DLQ")


def letter(to: str = "DLQ", *, apart: bool = False, **more: Any) -> int:
    """A message that a program put on the dead letter queue, with its own header."""
    fields: dict[str, Any] = (
        {"headers": HEADER, "body": b"hello"} if apart else {"body": HEADER + b"hello"}
    )
    fields |= {"descriptor": {"format": "MQDEAD"}, "now": NOON}
    return put(to, **fields | more).message_id


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("action", "to", "is_bare"),
    [
        ("ACTION(RETRY)", "orders", True),
        ("ACTION(FWD) FWDQ('bills') HEADER(NO)", "bills", True),
        ("ACTION(FWD) FWDQ('bills')", "bills", False),
    ],
)
def test_a_letter_with_its_own_header_is_taken(
    ada: User, dlq: Queue, action: str, to: str, *, apart: bool, is_bare: bool
) -> None:
    letter(apart=apart)
    (deed,) = run(write(f"{AS_IT_SAYS} {action}", ada))
    (there,) = on(to)
    message = Message.objects.get(pk=there)
    data = bytes(message.headers or b"") + bytes(message.body)
    assert (deed["done"], deed["failed"], deed["to"]) == (1, 0, to)
    assert data == (b"hello" if is_bare else HEADER + b"hello")
    assert message.descriptor == (
        {"format": "MQSTR", "coded_char_set_id": 819}
        if is_bare
        else {"format": "MQDEAD"}
    )
    assert fsck.violations() == []


def test_it_is_discarded_and_one_that_came_back_is_taken_too(
    ada: User, dlq: Queue
) -> None:
    make_setting("DLQ", max_delivery_attempts=-1)
    ids = [letter(), letter(priority=9)]
    back_out("DLQ", limit=2)
    (deed,) = run(write(f"{AS_IT_SAYS} ACTION(DISCARD)", ada), limit=9)
    assert deed["done"] == 2
    found = Discarded.objects.values_list("message_id", flat=True)
    assert sorted(found) == sorted(ids)


def test_passes_go_on_behind_the_last_letter(ada: User) -> None:
    make_dead_letters(1)
    others = [letter("DLA", priority=priority) for priority in (1, 9, 4)]
    table = write("ACTION(DISCARD)", ada, mode=Mode.OBSERVE)
    first, rest, end = (run(table, limit=2) for _ in range(3))
    assert (first[0]["letters"], rest[0]["sample"], end) == (2, others[1:], [])


@pytest.mark.parametrize(
    "fields",
    [
        {"body": b"hello", "descriptor": None},
        {"body": b"DLH ", "descriptor": {"format": "MQDEAD"}},
    ],
)
def test_a_message_with_no_story_is_left_and_reported_once(
    ada: User, dlq: Queue, fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    stranger = letter(**fields)
    other = letter()
    table = write("ACTION(DISCARD) RETRY(9)", ada)
    left, done = sorted(run(table), key=lambda deed: deed["rule"])
    assert (left["rule"], left["action"], left["letters"]) == (0, "LEAVE", 1)
    assert left["sample"] == [stranger]
    assert "no MQDLH" in left["why"]
    assert caplog.text.count("1 message on DLQ") == 1
    assert (done["done"], on("DLQ")) == (1, [stranger])
    assert not Discarded.objects.filter(message_id=stranger).exists()
    assert other not in on("DLQ")
    assert run(table, after_s=90) == []
    assert RulePass.objects.count() == 1


def test_the_preview_counts_them(ada: User, dlq: Queue) -> None:
    letter(body=b"hello", descriptor=None)
    letter()
    found = rules.preview(rules.read("ACTION(RETRY)", queue="DLQ"), dlq)
    assert (found.looked_at, found.unexplained, found.unmatched) == (1, 1, 0)
    assert found.rules[0].targets == {"orders": 1}
