"""Poison messages by IBM MQ's rules: which they are, and where they are to go."""

from __future__ import annotations

import pytest
from django.conf import settings as configured

from broker.errors.mq_codes import OpenOptions, Reason, Report
from broker.models import AddressSetting, Queue, Ready
from broker.queueing.put import put
from broker.settlement import poison
from broker.settlement.redelivery_policy import (
    BackoutQueue,
    DeadLetterQueue,
    DiscardByReport,
    NoPlace,
    Removal,
    remove,
)
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue, make_setting

pytestmark = pytest.mark.django_db

DLQ = configured.BROKER_DEAD_LETTER_QUEUE
FULL, UNKNOWN = Reason.Q_FULL, Reason.UNKNOWN_OBJECT_NAME
REACHED = Reason.BACKOUT_THRESHOLD_REACHED
ASKED = Report.DISCARD_MSG


@pytest.mark.spec("POISON-6", "POISON-7", "UNIFY-5")
@pytest.mark.parametrize(
    ("backout_queue", "refused", "report", "dead_refused", "expected"),
    [
        ("BOQ", None, Report.NONE, None, BackoutQueue("BOQ")),
        ("BOQ", None, ASKED, UNKNOWN, BackoutQueue("BOQ")),
        ("BOQ", FULL, Report.NONE, None, DeadLetterQueue(FULL)),
        ("BOQ", FULL, ASKED, None, DiscardByReport(FULL)),
        ("BOQ", FULL, Report.NONE, UNKNOWN, NoPlace(FULL, UNKNOWN)),
        ("", None, Report.NONE, None, DeadLetterQueue(REACHED)),
        ("", None, ASKED, None, DiscardByReport(REACHED)),
        ("", None, ASKED | Report.EXCEPTION, FULL, DiscardByReport(REACHED)),
        ("", None, Report.EXCEPTION, FULL, NoPlace(REACHED, FULL)),
    ],
)
def test_where_a_poison_message_goes(
    backout_queue: str,
    refused: Reason | None,
    report: Report,
    dead_refused: Reason | None,
    expected: Removal,
) -> None:
    refusals = {"BOQ": refused, DLQ: dead_refused}
    assert expected == remove(
        None,
        backout_queue=backout_queue,
        dead_letter_queue=DLQ,
        report=report,
        refusal=refusals.__getitem__,
    )


@pytest.mark.spec("ASF-4")
@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (Report.NONE, DeadLetterQueue(Reason.MSG_NOT_MATCHED)),
        (ASKED, DiscardByReport(Reason.MSG_NOT_MATCHED)),
    ],
)
def test_what_is_no_poison_never_goes_to_the_backout_queue(
    report: Report, expected: Removal
) -> None:
    assert expected == remove(
        Reason.MSG_NOT_MATCHED,
        backout_queue="BOQ",
        dead_letter_queue=DLQ,
        report=report,
        refusal=lambda _: None,
    )


@pytest.mark.spec("POISON-3", "POISON-4", "UNIFY-2")
@pytest.mark.parametrize(
    ("threshold", "backouts", "is_poison"),
    [(3, 2, False), (3, 3, True), (3, 4, True), (0, 1000, False), (1, 1, True)],
)
def test_a_message_is_poison_at_its_threshold(
    threshold: int, backouts: int, *, is_poison: bool
) -> None:
    attributes = poison.Attributes("orders", threshold, "BOQ")
    assert attributes.is_poison(backouts) is is_poison


@pytest.mark.spec("UNIFY-3")
@pytest.mark.parametrize(
    ("policy", "threshold", "expected"),
    [
        (None, 3, 3),
        (None, 0, 0),
        ("ibm", 3, 3),
        ("both", 3, 3),
        ("artemis", 3, 0),
        ("none", 3, 0),
    ],
)
def test_the_policy_says_whether_consumers_look(
    policy: str | None, threshold: int, expected: int
) -> None:
    make_queue("orders", backout_threshold=threshold)
    make_setting("orders", poison_policy=policy)
    assert poison.attributes_of("orders").threshold == expected


@pytest.mark.spec("UNIFY-3", "POISON-1", "POISON-2")
@pytest.mark.parametrize(
    ("policy", "threshold", "left"),
    [
        (None, 0, 0),  # artemis
        (None, 3, 1),  # ibm
        ("artemis", 3, 0),
        ("both", 3, 0),
        ("ibm", 0, 1),
        ("none", 0, 1),
    ],
)
def test_the_policy_says_whether_the_broker_ends_it_at_the_last_backout(
    policy: str | None, threshold: int, left: int
) -> None:
    make_queue("orders", backout_threshold=threshold)
    make_setting("orders", poison_policy=policy, max_delivery_attempts=2)
    put("orders", now=NOON)
    for _ in range(2):
        back_out()
    assert Ready.objects.count() == left


@pytest.mark.spec("POISON-16")
def test_a_temporary_queue_has_the_threshold_of_the_consumer_layer() -> None:
    make_queue("orders", kind=Queue.Kind.TEMPORARY)
    make_setting("#", poison_policy=AddressSetting.PoisonPolicy.IBM)
    assert poison.attributes_of("orders").threshold == 20


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize(
    ("is_clustered", "client", "options"),
    [
        (True, (9, 1, 0, 1), 8225),
        (True, (9, 1, 1), 8225),
        (True, (9, 1, 0, 2), 8224),
        (True, (9, 1, 2), 8224),
        (False, (8, 0), 8224),
    ],
)
def test_how_a_client_opens_the_queue_that_it_inquires(
    is_clustered: bool,
    client: tuple[int, ...],
    options: int,
) -> None:
    assert options == poison.open_options(is_clustered=is_clustered, client=client)
    assert OpenOptions.INQUIRE & options


def back_out() -> None:
    work = UnitOfWork(now=NOON)
    if work.get("orders"):
        work.back_out("no")
