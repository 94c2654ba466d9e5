"""What a link does while its target refuses: it waits, counts, and goes on."""

from __future__ import annotations

import pytest

from broker.bridges import retries, standing
from broker.bridges.retries import LONGEST_S, Retries, doubled_s
from broker.errors import MessageTooLarge
from broker.errors.bridges import Hold
from broker.errors.queues import PutInhibited, QueueFull
from broker.models import Link, LinkState, Queue
from broker.queueing.put import put
from console.bridges.words import chip_of
from tests.broker.bridges.linking import dead, make_queues, status, taken
from tests.broker.bridges.running import until_sent, until_state
from tests.broker.bridges.test_runner import new_link, running
from tests.console.until import until
from tests.make import make_setting


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> None:
    monkeypatch.setattr(retries, "FIRST_S", 0.001)
    make_queues("orders", "booked")


@pytest.mark.spec("BRIDGE-10")
def test_delays_double_up_to_a_minute() -> None:
    delays = [doubled_s(n, LONGEST_S) for n in (1, 2, 3, 7, 8, 9, 5000)]

    assert delays == [0.5, 1.0, 2.0, 32.0, 60.0, 60.0, 60.0]


@pytest.mark.spec("BRIDGE-10")
def test_tries_while_the_target_accepts_nothing_do_not_count() -> None:
    one = Retries()
    for n in range(5):
        one.refused(None, n)
    for n in range(100):
        one.refused(Hold.FULL, 10 + n)
    seen = [one.is_hopeless]
    assert one.left_s(now=109) == 60

    one.refused(None, 200)
    assert [*seen, one.is_hopeless] == [False, True]
    assert one.left_s(now=200) == 16  # the sixth; nothing of the hold is left
    assert one.succeeded()
    assert not one.succeeded()


@pytest.mark.usefixtures("_soon")
@pytest.mark.spec("BRIDGE-10")
def test_the_sixth_failure_of_a_message_that_is_alone_stops_the_link() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    put("orders", b"too long")
    link = new_link()
    with running():
        until_state(link, LinkState.STOPPED)

    assert [one.backout_count for one in taken("orders")] == [6]
    assert status(link).failures == 6


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("transacted", [True, False])
@pytest.mark.parametrize(
    ("hold", "fields", "over"),
    [
        (Hold.FULL, {"max_depth": 1}, {"max_depth": 5}),
        (Hold.INHIBITED, {"put_inhibited": True}, {"put_inhibited": False}),
    ],
)
@pytest.mark.spec("BRIDGE-10")
def test_a_link_goes_on_when_its_target_accepts_again(
    hold: Hold, fields: dict[str, object], over: dict[str, object], *, transacted: bool
) -> None:
    make_setting("orders", max_delivery_attempts=2)
    put("booked", b"before")
    for body in (b"one", b"two"):
        put("orders", body)
    Queue.objects.filter(name="booked").update(**fields)
    again = Link.OnSendFailure.RETRY
    link = new_link(transacted=transacted, on_send_failure=again)
    with running():
        until(lambda: status(link).failures > 8)
        waits = status(link)
        assert (waits.state, standing.held_by(waits)) == (LinkState.STARTED, hold)
        assert chip_of(waits) == ("redelivery", f"waits: target {hold}")
        assert "goes on by itself" in waits.error

        Queue.objects.filter(name="booked").update(**over)
        until_sent(link, 2)
        until(lambda: status(link).failures == 0)
    assert standing.held_by(status(link)) is None
    bodies = [(one.body, one.backout_count) for one in taken("booked")]
    assert bodies == [(b"before", 0), (b"one", 0), (b"two", 0)]
    assert dead() == []


@pytest.mark.spec("BRIDGE-10")
@pytest.mark.parametrize(
    ("text", "hold"),
    [
        (str(QueueFull("booked", 5)), Hold.FULL),
        (str(PutInhibited("booked")), Hold.INHIBITED),
        ("AMQ229102: Address booked is full. (amqp:resource-limit-exceeded)", "full"),
        ("The provider rejected it: amqp:resource-limit-exceeded.", Hold.FULL),
        ("Usage Manager Memory Limit reached. Stopping producer", Hold.FULL),
        (str(MessageTooLarge(5, 3)), None),
        ("The provider cannot accept the message now (released).", None),
        ("A full stop is missing.", None),
    ],
)
def test_what_providers_say_of_a_full_target(text: str, hold: Hold | None) -> None:
    assert Hold.from_text(text) == hold
