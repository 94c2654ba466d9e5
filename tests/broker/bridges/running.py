"""The bridge process, as ``manage.py broker_bridge`` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from broker.models import Link, LinkState
from tests.broker.bridges.linking import status
from tests.broker.elsewhere import Process, process
from tests.console.until import until

SCRIPT = """
import signal
from broker.bridges.process import BridgeRunner
bridge = BridgeRunner()
signal.signal(signal.SIGTERM, lambda *_: bridge.stop())
print("here", flush=True)
bridge.run()
"""


@contextmanager
def bridge_process() -> Iterator[Process]:
    """Another process that runs links; killed at the end."""
    with process(SCRIPT) as other:
        yield other


def until_state(link: Link, state: LinkState, seconds: float = 30) -> None:
    until(lambda: status(link).state == state, seconds)


def until_sent(link: Link, count: int, seconds: float = 30) -> None:
    until(lambda: status(link).sent >= count, seconds)
