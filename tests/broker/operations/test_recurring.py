"""Recurring messages: when they are due, and that each time is met once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError

from broker.errors.queues import NotAuthorized
from broker.housekeeping import work
from broker.models import Act, AuditRecord, Message, RecurringMessage
from broker.operations import recurring
from broker.sql import database_now
from tests.broker.elsewhere import Elsewhere
from tests.make import (
    NOON,
    make_queue,
    make_recurring,
    make_user,
    minutes,
    seconds,
)

BERLIN = ZoneInfo("Europe/Berlin")


def put() -> list[tuple[str, Any]]:
    found = Message.objects.order_by("id")
    return [(bytes(one.body).decode(), one.properties) for one in found]


@pytest.mark.parametrize(
    ("rule", "after", "then"),
    [
        (
            {"crontab": "0 6 * * 1-5", "time_zone": "Europe/Berlin"},
            datetime(2026, 3, 27, 7, tzinfo=BERLIN),  # a Friday; clocks change then
            datetime(2026, 3, 30, 6, tzinfo=BERLIN),
        ),
        (
            {"crontab": "30 2 * * *", "time_zone": "Europe/Berlin"},
            datetime(2026, 10, 24, 12, tzinfo=BERLIN),  # this night has 02:30 twice
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
        ),
        ({"every_s": 900, "next_at": NOON}, NOON, NOON + minutes(15)),
        ({"every_s": 900, "next_at": NOON}, NOON + minutes(50), NOON + minutes(60)),
    ],
)
def test_the_next_time_is_that_of_the_rule(
    rule: dict[str, Any], after: datetime, then: datetime
) -> None:
    assert RecurringMessage(**rule).after(after) == then


def test_the_rule_is_told_in_words() -> None:
    crontab = RecurringMessage(crontab="0 6 * * 1-5", time_zone="Europe/Berlin")
    told = [crontab.words, *(RecurringMessage(every_s=n).words for n in (300, 90))]
    assert told == [
        "At 06:00 on Monday through Friday Europe/Berlin",
        "every 5 min",
        "every 1 min 30 s",
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"crontab": "every day"}, "is no crontab line"),
        ({"crontab": "0 0 30 2 *"}, "is no crontab line"),
        ({"crontab": "0 6 * * *", "every_s": 5}, "either a crontab line or"),
        ({}, "either a crontab line or"),
        ({"every_s": 5, "time_zone": "Mars"}, "There is no time zone Mars"),
        ({"every_s": 5, "properties": [1]}, "Write a JSON object"),
        ({"every_s": 5, "properties": {"x": float("nan")}}, "x is nan"),
    ],
)
@pytest.mark.django_db
def test_what_cannot_recur_is_refused_in_a_sentence(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        RecurringMessage(name="x", address="orders", **fields).full_clean()


@pytest.mark.django_db
def test_it_is_put_once_for_each_time_and_names_its_schedule() -> None:
    make_queue()
    make_recurring(properties={"tenant": "t7"}, priority=7)

    assert recurring.put_due(limit=9, now=NOON - seconds(1)) == 0
    assert recurring.put_due(limit=9, now=NOON + seconds(1)) == 1
    assert recurring.put_due(limit=9, now=NOON + seconds(2)) == 0
    assert recurring.put_due(limit=9, now=NOON + minutes(5.5)) == 1, "none is made up"

    said = {"tenant": "t7", "backout_schedule": "heartbeat"}
    due = [f"{NOON + minutes(n):%Y-%m-%dT%H:%M:%S}+00:00" for n in (0, 1)]
    assert put() == [("tick", said | {"backout_due_at": at}) for at in due]
    one = RecurringMessage.objects.get()
    assert one.next_at == NOON + minutes(6)
    assert one.last_message_id == Message.objects.latest("id").pk


def test_two_processes_put_it_once(elsewhere: Elsewhere) -> None:
    make_queue()
    make_recurring()
    elsewhere.begin()
    assert elsewhere(recurring.put_due, limit=9, now=NOON) == 1

    assert recurring.put_due(limit=9, now=NOON) == 0, "the other has locked it"
    elsewhere.commit()
    assert recurring.put_due(limit=9, now=NOON) == 0, "the other has put it"
    assert len(put()) == 1


@pytest.mark.django_db
def test_a_put_that_is_refused_is_told_and_holds_up_no_other() -> None:
    make_queue()
    make_recurring("a", address="nowhere")
    make_recurring("b")

    assert recurring.put_due(limit=9, now=NOON) == 2

    assert len(put()) == 1
    broken = RecurringMessage.objects.get(name="a")
    assert "There is no address 'nowhere'" in broken.problem
    assert broken.next_at == NOON + minutes(1)


@pytest.mark.django_db
def test_one_that_is_off_is_not_put_and_begins_anew_when_it_is_on() -> None:
    make_queue()
    one = make_recurring()
    one.is_enabled = False
    one.save()
    assert recurring.put_due(limit=9) == 0

    one.is_enabled = True
    one.save()
    before = database_now()
    assert one.next_at is not None
    assert one.next_at - before <= minutes(1)
    assert one.next_at > before - seconds(5)


@pytest.mark.django_db
def test_somebody_puts_it_now_and_its_next_time_stays() -> None:
    make_queue()
    make_recurring()
    omar = make_user("omar")

    recurring.put_now("heartbeat", user=omar, reason="to try it", now=NOON)

    assert len(put()) == 1
    assert RecurringMessage.objects.get().next_at == NOON
    record = AuditRecord.objects.get(act=Act.PUT_RECURRING)
    assert (record.object_name, record.reason) == ("heartbeat", "to try it")
    with pytest.raises(NotAuthorized):
        recurring.put_now("heartbeat", user=make_user("vera", granted=("inquire",)))


@pytest.mark.django_db
def test_the_housekeeping_puts_it_on_time() -> None:
    make_queue()
    make_recurring()
    at = database_now() + seconds(0.2)
    RecurringMessage.objects.update(next_at=at)

    assert work.DUE[work.put_recurring]()
    work.put_recurring()

    (message,) = Message.objects.all()
    assert at <= message.put_at < at + timedelta(seconds=0.7)
