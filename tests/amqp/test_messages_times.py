"""How long a message lives and waits, as its header, properties and annotations say."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.amqp.protocol.types.types import Timestamp, UInt
from tests.amqp.written import (
    HEADER,
    NOON_MS,
    annotated,
    came,
    data,
    header_of,
    properties,
    section,
    sent,
    without_header,
)
from tests.make import NOON, minutes, seconds


def test_the_time_to_live_is_what_remains_of_it() -> None:
    message = came(section(HEADER, [None, None, UInt(60_000)]) + data())

    assert header_of(sent(message)).ttl == 60_000
    assert header_of(sent(message, now=NOON + seconds(59))).ttl == 1000
    assert header_of(sent(message, now=NOON + minutes(9))).ttl == 1
    assert header_of(sent(message, expires_at=None)).ttl is None
    later = NOON + timedelta(days=500)
    assert header_of(sent(message, expires_at=later)).ttl == 2**32 - 1


def test_an_absolute_expiry_time_counts_where_there_is_no_time_to_live() -> None:
    payload = properties(absolute_expiry_time=Timestamp(NOON_MS + 5000)) + data()
    both = section(HEADER, [None, None, UInt(60_000)]) + payload

    assert came(payload).expires_at == NOON + seconds(5)
    assert came(both).expires_at == NOON + minutes(1)
    assert without_header(sent(came(both))) == payload


@pytest.mark.parametrize("time", [0, -5, 2**62])
def test_an_expiry_time_that_no_calendar_has_is_none(time: int) -> None:
    payload = properties(absolute_expiry_time=Timestamp(time)) + data()

    assert came(payload).expires_at is None
    assert without_header(sent(came(payload))) == payload


@pytest.mark.parametrize("changed", [None, NOON + minutes(90)])
def test_an_expiry_time_that_no_longer_holds_is_taken_out(
    changed: datetime | None,
) -> None:
    expires = Timestamp(NOON_MS + 5000)
    fields = {"message_id": "m", "creation_time": Timestamp(NOON_MS)}
    message = came(properties(**fields, absolute_expiry_time=expires) + data())

    out = split(sent(message, expires_at=changed))

    assert properties_of(out.properties).absolute_expiry_time is None
    assert properties_of(out.properties).creation_time == NOON_MS
    assert map_of(out.annotations) == {"x-opt-orig-expiry": expires}


@pytest.mark.parametrize(
    ("annotation", "value", "due"),
    [
        ("x_opt_delivery_time", NOON_MS + 5000, NOON + seconds(5)),
        ("x_opt_delivery_time", Timestamp(NOON_MS + 5000), NOON + seconds(5)),
        ("x_opt_scheduled_enqueue_time", Timestamp(NOON_MS + 1), NOON + seconds(0.001)),
        ("x_opt_delivery_time", Timestamp(NOON_MS), None),
        ("x_opt_delivery_delay", UInt(5000), NOON + seconds(5)),
        ("x_opt_delivery_delay", -1, None),
        ("x_opt_delivery_time", 0, None),
        ("x_opt_delivery_time", None, None),
    ],
)
def test_a_delay_is_kept_and_passed_on(
    annotation: str, value: Any, due: datetime | None
) -> None:
    payload = annotated(**{annotation: value}) + data()

    assert came(payload).deliver_at == due
    assert without_header(sent(came(payload))) == payload


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("x_opt_delivery_time", "soon"),
        ("x_opt_delivery_time", 2**62),
        ("x_opt_delivery_delay", 2**62),
        ("x_opt_delivery_delay", True),
    ],
)
def test_a_delay_that_is_none_is_refused(annotation: str, value: Any) -> None:
    with pytest.raises(AmqpError) as refused:
        came(annotated(**{annotation: value}) + data())
    assert refused.value.condition == "amqp:invalid-field"
    assert annotation.replace("_", "-") in refused.value.description
