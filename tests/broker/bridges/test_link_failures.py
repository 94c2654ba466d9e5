"""What a link does about refusals, lost providers and its own log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker.bridges import dead_messages, retries, standing
from broker.bridges.providers.interface import Factory
from broker.bridges.providers.local import LocalSession
from broker.bridges.runner import Runner
from broker.bridges.states import Command
from broker.errors.bridges import AccessRefused, ProviderLost
from broker.models import LinkState, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.models.links import Link
from broker.queueing.put import put
from tests.broker.bridges.linking import (
    carry,
    dead,
    make_bridge,
    make_dead_queue,
    make_factory,
    make_link,
    make_queues,
    status,
    taken,
)
from tests.broker.bridges.running import until_sent, until_state
from tests.broker.bridges.test_runner import new_link, order, running
from tests.console.until import until
from tests.make import NOON

REASON = "JMS_SUN_JMSBRIDGE_DMQ_REASON"
STOPPED = LinkState.STOPPED


@pytest.fixture(autouse=True)
def _queues(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_S", 0.01)
    make_queues("orders", "booked", "first")


@pytest.mark.spec("BRIDGE-9")
def test_by_dmq_and_retry_each_try_is_a_dead_message_until_the_link_stops() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    for body in (b"one", b"too long", b"two"):
        put("orders", body)
    link = new_link(transacted=False, on_send_failure=Link.OnSendFailure.RETRY)
    with running():
        until_state(link, STOPPED)

    assert [one.body for one in taken("booked")] == [b"one"]
    assert [one.body for one in taken("orders")] == [b"too long", b"two"]
    assert [one.properties[REASON] for one in dead()] == ["SEND_FAILURE"] * 6


@pytest.mark.spec("BRIDGE-12")
@pytest.mark.parametrize("logs", [True, False])
def test_a_transfer_is_one_line_of_the_log_where_that_is_set(
    caplog: pytest.LogCaptureFixture, *, logs: bool
) -> None:
    put("orders", b"one", message_id="ID:1")
    link = make_link(bridge=make_bridge("telling", log_transfers=logs))
    with caplog.at_level(logging.INFO, "broker.bridges"):
        carry(link)
    (there,) = taken("booked")
    lines = [one.message for one in caplog.records if "transferred" in one.message]
    said = f"telling/out: transferred ID:1 -> {there.client_message_id}"
    assert lines == ([said] if logs else [])


@pytest.mark.spec("BRIDGE-14")
def test_where_no_dead_queue_takes_it_the_link_tells_all_of_it_and_stops(
    caplog: pytest.LogCaptureFixture,
) -> None:
    put("orders", b"secret", reply_to="answers", properties={"region": "north"})
    make_queues("refusing")
    Queue.objects.filter(name="booked").update(put_inhibited=True)
    dead_messages.ensure()
    Queue.objects.filter(name=BUILT_IN_QUEUE).update(put_inhibited=True)
    link = new_link(transacted=False)
    with running():
        until_state(link, STOPPED)

    assert "No dead message queue" in status(link).error
    assert [one.body for one in taken("orders")] == [b"secret"]
    (line,) = [one.message for one in caplog.records if "not taken" in one.message][:1]
    assert "'region': 'north'" in line
    assert "secret" not in line


@pytest.mark.spec("BRIDGE-16")
def test_a_dead_queue_has_a_transformer_whose_failure_costs_nothing() -> None:
    put("orders", b"late", expires_at=NOON.replace(year=2999))
    link = make_link()
    here = make_factory(link.bridge)
    make_queues("second")
    queue = make_dead_queue(link, "a", here, "first", transformer="headers")
    queue.properties = {"set.seen": "yes"}
    queue.save()
    carry(link, now=NOON.replace(year=3000))
    (copy,) = taken("first")
    assert (copy.body, copy.properties["seen"]) == (b"late", "yes")

    queue.properties = {"patch": "no patch"}
    queue.transformer = "json-patch"
    queue.save()
    put("orders", b"late again", expires_at=NOON.replace(year=2999))
    carry(link, now=NOON.replace(year=3000))
    (copy,) = taken("first")
    assert copy.body == b"late again"


@pytest.mark.spec("BRIDGE-16")
def test_a_refused_message_says_where_it_was_going_at_last_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    put("orders", b"too long", message_id="ID:1")
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    carry(make_link(transacted=False))
    (one,) = dead()
    going = "JMS_SUN_JMSBRIDGE_TARGET_CURRENT_DESTINATION"
    assert one.properties[going] == "queue:booked"
    (line,) = [one.message for one in caplog.records if "ID:1" in one.message]
    assert line.startswith("shop/out: ID:1: SEND_FAILURE: ")


def counted(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[Factory]:
    """Have each connection fail; those that were tried."""
    tried: list[Factory] = []

    def refuse(factory: Factory) -> Any:
        tried.append(factory)
        raise error

    monkeypatch.setattr("broker.bridges.ends.connect", refuse)
    return tried


def away(attempts: int, interval_s: float = 0) -> Link:
    bridge = make_bridge()
    there = make_factory(
        bridge,
        "away",
        "rabbitmq",
        url="amqp://127.0.0.1:1",
        connect_attempts=attempts,
        connect_interval_s=interval_s,
    )
    return new_link(target_factory=there, bridge=bridge, transacted=False)


@pytest.mark.spec("BRIDGE-19")
def test_a_provider_that_does_not_answer_is_tried_as_often_as_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = counted(monkeypatch, ProviderLost("away", "nobody answers"))
    link = away(attempts=3)
    with running():
        until_state(link, STOPPED)
    assert len(tried) == 3
    assert "The link gave up after 3 attempts" in status(link).error


@pytest.mark.spec("BRIDGE-19")
def test_a_wrong_password_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = counted(monkeypatch, AccessRefused("away", "the password is wrong"))
    link = away(attempts=-1)
    with running():
        until_state(link, STOPPED)
    assert len(tried) == 1
    assert "the password is wrong" in status(link).error


@pytest.mark.spec("BRIDGE-19")
def test_while_its_provider_does_not_answer_the_failures_of_a_link_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted(monkeypatch, ProviderLost("away", "nobody answers"))
    link = away(attempts=-1, interval_s=1)
    put("orders", b"one")
    with running():
        until(lambda: status(link).failures > 1)
        first = status(link)
        until(lambda: status(link).failures > first.failures)
        later = status(link)
        assert later.state == LinkState.STARTING
        assert later.error == "away: nobody answers"
        assert (later.started_at, later.changed_at) == (
            first.started_at,
            first.changed_at,
        )
        assert list(standing.troubled()) == [later]

        monkeypatch.setattr("broker.bridges.ends.connect", LocalSession)
        until_sent(link, 1)
        assert status(link).failures == 0


def test_who_stops_a_link_whose_provider_does_not_answer_has_no_failed_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted(monkeypatch, ProviderLost("away", "nobody answers"))
    link = away(attempts=-1, interval_s=1)
    with running():
        until(lambda: status(link).failures > 1)
        order(link, Command.STOP)
        until_state(link, STOPPED)
    assert not standing.has_failed(status(link))
    assert not standing.failed().exists()


def test_it_is_tried_for_however_long_nobody_answers() -> None:
    link = away(attempts=-1)
    runner = Runner(link, 1, [], LinkState.STARTED, tries=5000)

    runner.lost(ProviderLost("away", "nobody answers"))

    assert runner.tries == 5001
