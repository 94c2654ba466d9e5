"""Each door through which links are made tells of delays at the source of a link."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from broker.config.lint import advice
from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from tests.console.configuration.test_circles_at_doors import (
    Door,
    api_of_bridges,
    api_of_links,
    command_bridge,
    page_of_bridge_import,
    page_of_link,
)
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.django_db

TOLD = "The queue B, the source of the link round/back, holds delayed messages"
WHAT_TO_DO = "Set no delivery delay where the order matters"


def deliver_later() -> None:
    put("B", b"later", deliver_at=timezone.now() + timedelta(hours=1))


def deliver_again_later() -> None:
    """Another consumer of the queue backs a message out."""
    make_setting("B", redelivery_delay_ms=60_000, max_delivery_attempts=-1)
    put("B", b"again")
    with pytest.raises(ZeroDivisionError), unit_of_work() as work:
        work.get("B")
        raise ZeroDivisionError


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize("delay", [deliver_later, deliver_again_later])
@pytest.mark.parametrize(
    "door",
    [
        *(page_of_link, page_of_bridge_import),
        *(api_of_links, api_of_bridges, command_bridge),
    ],
)
def test_each_door_tells_of_delays_at_the_source_of_a_link(
    door: Door,
    delay: Callable[[], None],
    ada: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in "AB":
        make_queue(name)
    delay()

    said = door(ada, tmp_path) + "".join(capsys.readouterr())

    assert TOLD in said
    assert WHAT_TO_DO in said
    # Nothing is wrong with the settings: producers may delay messages.
    assert not [one for one in advice() if "delayed messages" in one.sentence]


def test_nothing_is_told_of_a_source_without_delays(
    ada: Client, tmp_path: Path
) -> None:
    for name in "ABC":
        make_queue(name)
    put("C", b"later", deliver_at=timezone.now() + timedelta(hours=1))
    put("B", b"now")

    assert "delayed messages" not in page_of_link(ada, tmp_path)
