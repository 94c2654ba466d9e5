"""What is said of messages that wait for a link of a bridge."""

from __future__ import annotations

import pytest

from broker.models import BridgeProcess, LinkState
from broker.monitoring.explain import explain
from tests.broker.explaining import codes, sent
from tests.console.bridging import beat, die_of_link, make_link, stand
from tests.make import make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _orders(db: None) -> None:
    make_queue("orders")
    beat()


def test_a_link_that_runs_is_a_consumer() -> None:
    stand(make_link(), LinkState.STARTED)

    assert codes(explain(sent())) == ["next"]


@pytest.mark.parametrize(
    ("state", "failures", "why", "remedy"),
    [
        ("PAUSED", 0, "is paused", "Resume the link under Bridges."),
        ("STOPPED", 0, "is stopped", "See why on its page, then start the link."),
        ("STARTING", 3, "cannot connect", "See why on its page."),
    ],
)
def test_of_one_that_stands_it_is_said_why_and_what_to_do(
    state: str, failures: int, why: str, remedy: str
) -> None:
    stand(make_link(), state, failures=failures)

    (one,) = explain(sent())

    assert one.code == "no-consumer"
    assert one.sentence == f"The link shop/out takes from orders, and {why}."
    assert one.remedy.startswith(remedy)
    assert one.details == {"link": "shop/out"}


def test_of_several_each_is_said_and_one_that_runs_is_enough() -> None:
    stand(make_link(), LinkState.STOPPED)
    stand(make_link("too"), LinkState.PAUSED)
    message = sent()

    (one,) = explain(message)
    told = "shop/out is stopped; shop/too is paused."
    assert one.sentence == f"No link takes from orders at present: {told}"

    stand(make_link("three"), LinkState.STARTED)
    assert codes(explain(message)) == ["next"]


def test_without_a_bridge_process_a_running_link_is_none() -> None:
    link = make_link(source="bills")
    stand(link, LinkState.STARTED)
    make_queue(link.resubmit_queue)
    message = sent(link.resubmit_queue)
    assert codes(explain(message)) == ["next"]

    BridgeProcess.objects.all().delete()

    (one,) = explain(message)
    assert "but no bridge process runs." in one.sentence
    assert "broker_bridge" in one.remedy


def test_a_dead_message_of_a_link_goes_through_it_whatever_lies_before() -> None:
    link = make_link()
    die_of_link(link)

    (one,) = explain(die_of_link(link))

    assert one.code == "dead-letter"
    assert one.remedy == "Fix the cause, then resubmit it through its link."
