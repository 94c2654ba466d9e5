"""The whole decision table of a poison message: what hinders its move, and who asks.

Source:
    IBM MQ, "Handling poison messages in IBM MQ classes for JMS".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User

from broker.client import Consumer
from broker.client.jms.listeners import Listening
from broker.errors.mq_codes import Reason, Report
from broker.formats.mq.chain import chain_of
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from broker.models import Discarded, Queue
from broker.monitoring import fsck
from broker.queueing import delayed
from broker.queueing.get import Delivery
from broker.settlement.move_targets import PUT_WITH_CONTEXT
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    DLQ,
    TRANSACTED,
    client,
    make_poison,
    put_orders,
    received,
)
from tests.make import NOON, make_authority, make_queue, make_user, minutes

pytestmark = pytest.mark.django_db

BACKOUTS = 2  # of the message, and the threshold
SPOILED: dict[
    str, tuple[dict[str, Any] | None, Reason]
] = {  # what a queue that takes nothing is like, and why it says so
    "full": ({"max_depth": 0}, Reason.Q_FULL),
    "put-inhibited": ({"put_inhibited": True}, Reason.PUT_INHIBITED),
    "too long": ({"max_message_bytes": 1}, Reason.MSG_TOO_BIG_FOR_Q),
    "put not granted": ({}, Reason.NOT_AUTHORIZED),
    "passall not granted": ({}, Reason.NOT_AUTHORIZED),
    "unknown": (None, Reason.UNKNOWN_OBJECT_NAME),
}
BACKOUT_QUEUES = ["fine", "blank", *SPOILED]
DEAD_LETTER_QUEUES = ["fine", *SPOILED]
REPORTS = [Report.NONE, Report.DISCARD_MSG]
# All kinds of dead letter queues if the message reaches one, else two of them.
TABLE = [
    (backout_queue, report, dead_letters)
    for backout_queue, report, dead_letters in product(
        BACKOUT_QUEUES, REPORTS, DEAD_LETTER_QUEUES
    )
    if dead_letters in {"fine", "unknown"}
    or (backout_queue != "fine" and report is Report.NONE)
]


@dataclass(frozen=True)
class End:
    """Where the message is in the end."""

    place: str  # "BOQ", "DLQ", "bin", "input"
    reason: Reason | None = None  # in the dead-letter header, or in the bin
    backout_count: int = 0


def expected(backout_queue: str, report: Report, dead_letters: str, how: str) -> End:
    """The first row that holds; the rules in the order in which they are told."""
    _, reason = SPOILED.get(backout_queue, ({}, Reason.BACKOUT_THRESHOLD_REACHED))
    rows = [
        (how == "transacted, rolled back", End("input", None, BACKOUTS + 1)),
        (backout_queue == "fine", End("BOQ")),
        (report is Report.DISCARD_MSG, End("bin", reason)),
        (dead_letters == "fine", End("DLQ", reason)),
        (how == "listener", End("input", None, BACKOUTS)),
        (True, End("bin", reason)),
    ]
    return next(end for holds, end in rows if holds)


def transacted_and_committed(receiving: Consumer) -> None:
    assert received(receiving) == [b"1"]
    receiving.session.commit()


def transacted_and_rolled_back(receiving: Consumer) -> None:
    assert received(receiving) == [b"1"]
    receiving.session.rollback()


def at_once(receiving: Consumer) -> None:
    assert received(receiving) == [b"1"]


def by_a_listener(receiving: Consumer) -> None:
    """In this thread, so that the test's transaction is the listener's, too."""
    heard: list[bytes] = []
    receiving.listener = lambda message: heard.append(message.body)
    assert Listening(receiving.session).hand_next(receiving)
    receiving.session.rollback()  # brings back what was heard, and nothing else
    assert heard == [b"1"]


HOW = {
    "transacted, committed": (TRANSACTED, transacted_and_committed),
    "transacted, rolled back": (TRANSACTED, transacted_and_rolled_back),
    "auto": (AUTO, at_once),
    "client": (CLIENT, at_once),
    "listener": (TRANSACTED, by_a_listener),
}


@pytest.mark.thorough
@pytest.mark.spec("POISON-7", "POISON-8", "POISON-9", "POISON-14", "UNIFY-5")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("backout_queue", "report", "dead_letters"), TABLE)
def test_where_a_poison_message_ends(
    backout_queue: str, report: Report, dead_letters: str, how: str
) -> None:
    user = make_user(granted=("get", "inquire"), pattern="orders")
    make_target(user, "BOQ", backout_queue)
    make_target(user, DLQ, dead_letters)
    make_poison(
        BACKOUTS,
        threshold=BACKOUTS,
        backout_queue="" if backout_queue == "blank" else "BOQ",
        descriptor={"report": int(report)},
    )
    put_orders(1)

    mode, run = HOW[how]
    run(client(user=user).session(mode).consumer("orders"))

    assert where_it_is() == expected(backout_queue, report, dead_letters, how)
    assert fsck.violations() == []


def make_target(user: User, name: str, state: str) -> None:
    """A queue in this state, as far as this user is concerned."""
    fields, _ = SPOILED.get(state, ({}, None))
    if fields is not None:
        make_queue(name, **fields)
    lacking = state.removesuffix(" not granted")
    granted = [one for one in PUT_WITH_CONTEXT if one != lacking]
    make_authority(user, *granted, pattern=name)


def where_it_is() -> End:
    """The one place where the message is."""
    later = NOON + minutes(1)
    delayed.wake_due(limit=10, now=later)
    found = [End("bin", reason) for reason in discarded_reasons()]
    for place, name, read in (
        ("input", "orders", plain),
        ("BOQ", "BOQ", with_rfh2),
        ("DLQ", DLQ, with_dead_letter_header),
    ):
        if Queue.objects.filter(name=name).exists():
            work = UnitOfWork(now=later)
            found += [
                End(place, read(one), one.backout_count)
                for one in work.get(name, 10)
                if one.body == b"poison"
            ]
            work.back_out(BackOut("only to look", at_once=True))
    (end,) = found
    return end


def discarded_reasons() -> list[Reason]:
    return [
        Reason(reason)
        for reason in Discarded.objects.values_list("reason", flat=True)
        if reason is not None
    ]


def plain(delivery: Delivery) -> None:
    assert delivery.headers is None


def with_rfh2(delivery: Delivery) -> None:
    (header,) = headers(delivery)
    assert isinstance(header, Rfh2)


def with_dead_letter_header(delivery: Delivery) -> Reason:
    (header,) = headers(delivery)
    assert isinstance(header, DeadLetterHeader)
    assert header.dest_q_name == "orders"
    return Reason(header.reason)


def headers(delivery: Delivery) -> tuple[object, ...]:
    chain = chain_of(
        delivery.descriptor, delivery.content_type, delivery.headers or b""
    )
    assert chain.error is None
    return chain.headers
