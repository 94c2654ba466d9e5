"""Metrics of links of bridges; none without links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client.metrics_core import Metric

from dashboards import sql
from dashboards.metrics.families import Family

LABELS = ("bridge", "link")


class LinkNumbers(NamedTuple):
    """One link; the columns of ``links.sql``."""

    bridge: str
    link: str
    state: str
    received: int
    sent: int
    branched: int
    transformed: int
    not_transferred: int
    expired: int
    dead: int
    duplicates: int
    looped: int
    failures: int
    waiting: int | None  # None: the source does not report it, or was not queried yet
    oldest_s: float | None
    idle_s: float | None  # None: nothing was transferred yet
    branches: int


STATE = Family(
    "backout_link_state",
    "1 for the present state of a link; the other states have no series.",
    (*LABELS, "state"),
)
COUNTS = {
    "received": "Messages that a link received from its source, since it was created.",
    "sent": "Messages that a link sent to its target, since it was created.",
    "branched": "Messages sent to another destination, as a transformer decided.",
    "transformed": "Messages that a transformer changed before they were sent.",
    "not_transferred": "Messages consumed and not sent, as a transformer decided.",
    "expired": "Messages that had expired at the source of a link.",
    "dead": "Copies that a link put on dead message queues.",
    "duplicates": "Messages that a source delivered again; they were not sent again.",
    "looped": "Messages not sent because the link had transferred them before.",
}
NUMBERS = {  # metrics by column of ``links.sql``
    **{
        name: Family(f"backout_link_{name}_total", text, LABELS)
        for name, text in COUNTS.items()
    },
    "failures": Family(
        "backout_link_consecutive_failures",
        "Failures of a link since its last success.",
        LABELS,
    ),
    "waiting": Family(
        "backout_link_waiting_messages",
        "Messages that wait at the source of a link, as last reported.",
        LABELS,
    ),
    "oldest_s": Family(
        "backout_link_oldest_message_age_seconds",
        "Age of the oldest of them; 0 if none waits.",
        LABELS,
    ),
    "idle_s": Family(
        "backout_link_last_transfer_age_seconds",
        "Time since a link last sent a message; no series before the first.",
        LABELS,
    ),
    "branches": Family(
        "backout_link_branches_in_doubt",
        "Transactions of a link that are not yet known to be ended at both ends.",
        LABELS,
    ),
}
FAMILIES = (STATE, *NUMBERS.values())


def of_links() -> Iterator[Metric]:
    """The metrics of all links. One query."""
    links = [LinkNumbers(*row) for row in sql.fetch("links")]
    if not links:
        return
    yield STATE.of(((one.bridge, one.link, one.state.lower()), 1) for one in links)
    for column, family in NUMBERS.items():
        values = ((one, getattr(one, column)) for one in links)
        yield family.of(
            ((one.bridge, one.link), value)
            for one, value in values
            if value is not None
        )
