"""The stack trace of a handler's error, in the journal and in the log."""

from __future__ import annotations

import logging

import pytest
from pytest_django import Settings

from broker.client import Reject
from broker.models import Event, Kind
from broker.queueing.get import Delivery
from broker.queueing.put import put
from tests.broker.handling import Seen, handle_next, handler, refuse
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def queues(transactional_db: None) -> None:
    make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")


def reject(_: Delivery) -> None:
    raise Reject("there is no customer 17")


@pytest.mark.parametrize("join", [True, False])
def test_each_failed_attempt_has_its_stack_trace(join: bool) -> None:
    put("orders")

    for _ in range(2):
        handle_next(handler(Seen(refuse), join=join))

    stacks = {
        Kind(one.kind): (one.detail or {}).get("stack")
        for one in Event.objects.order_by("seq")
    }
    assert set(stacks) == {Kind.PUT, Kind.GET, Kind.BACK_OUT, Kind.DEAD_LETTER}
    for kind in (Kind.BACK_OUT, Kind.DEAD_LETTER):
        text = stacks[kind]
        assert text
        assert text.endswith("ValueError: no such customer\n")
        assert 'raise ValueError("no such customer")' in text
        assert "server_session.py" not in text
    assert stacks[Kind.PUT] is None, "the copy's own story begins without it"


def test_a_rejection_has_one_too_and_is_no_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    put("orders")
    caplog.set_level(logging.INFO)

    handle_next(handler(Seen(reject)))

    (event,) = Event.objects.filter(kind=Kind.DEAD_LETTER)
    assert event.detail
    assert "in reject" in event.detail["stack"]
    (line,) = [one for one in caplog.records if "rejected" in one.getMessage()]
    assert line.levelno == logging.INFO


def test_a_failed_delivery_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    put("orders")

    handle_next(handler(Seen(refuse)))

    (line,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    said = "orders was backed out: ValueError: no such customer"
    assert logging.Formatter().format(line) == said


def test_the_log_has_the_exception_and_the_ids(
    caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    settings.BACKOUT_LOG_TRACES = True
    message_id = put("orders").message_id

    handle_next(handler(Seen(refuse)))

    (line,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert line.getMessage() == "orders was backed out: ValueError: no such customer"
    assert line.exc_info
    assert line.exc_info[0] is ValueError
    assert (line.__dict__["message_id"], line.__dict__["queue"]) == (
        message_id,
        "orders",
    )
