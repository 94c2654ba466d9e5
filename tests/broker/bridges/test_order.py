"""Links keep the order of their source, whatever delays it has."""

from __future__ import annotations

import pytest

from broker.bridges import retries
from broker.models import Queue
from broker.queueing.put import put
from broker.settlement import settle
from tests.broker.bridges.linking import make_queues, status, taken
from tests.broker.bridges.running import SCRIPT, bridge_process, until_sent
from tests.broker.bridges.test_runner import FREEZES, is_stopped, new_link, running
from tests.broker.elsewhere import kill, process
from tests.console.until import until
from tests.make import make_setting

BODIES = [b"0", b"1", b"2", b"3", b"4"]


@pytest.fixture(autouse=True)
def _delayed(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_S", 0.01)
    make_queues("orders", "booked")
    make_setting("orders", redelivery_delay_ms=60_000, max_delivery_attempts=-1)


@pytest.mark.spec("BRIDGE-1")
def test_a_refused_message_waits_for_no_redelivery_delay() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=0)
    link = new_link()
    with running():
        for body in BODIES[:3]:
            put("orders", body)
        until(lambda: status(link).failures > 1)
        for body in BODIES[3:]:
            put("orders", body)
        Queue.objects.filter(name="booked").update(max_message_bytes=None)
        until_sent(link, 5)

    assert [one.body for one in taken("booked")] == BODIES


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize("first", ["the housekeeping", "the next process"])
def test_what_a_killed_process_held_waits_for_none(first: str) -> None:
    link = new_link()
    with process(FREEZES + SCRIPT) as frozen:
        for body in BODIES[:3]:
            put("orders", body)
        until(lambda: is_stopped(frozen.pid))
        kill(frozen)
    for body in BODIES[3:]:
        put("orders", body)
    if first == "the housekeeping":
        settle.back_out_overdue(limit=10)
    with bridge_process():
        until_sent(link, 5)

    assert [one.body for one in taken("booked")] == BODIES
