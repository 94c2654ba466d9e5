"""Delayed messages as a list: until when, why, and the delays of later attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.models import AddressSetting
from broker.monitoring.delayed import Scheduled
from broker.security import authorities
from broker.settlement.redelivery_policy import redelivery_delay
from broker.settlement.settings_cache import rules_of
from console.messages.dead_letter_query import names_for

AHEAD = 4  # the most later attempts that are shown


@dataclass(frozen=True, slots=True)
class ScheduledRow:
    """One delayed message."""

    entry: Scheduled
    queue: str
    address: str  # the address that feeds the queue
    limit: int | None  # the limit of attempts; None: no limit
    is_late: bool
    ahead: list[timedelta]  # the delays after the next attempts, if all fail
    is_cut: bool  # whether there are more delays

    @property
    def is_flat(self) -> bool:
        """Whether no later attempt has a delay."""
        return bool(self.ahead) and not any(self.ahead)

    @property
    def attempt(self) -> int:
        """The number of the next attempt."""
        return self.entry.backout_count + 1


def visible_queues(user: authorities.Principal, wanted: str = "") -> dict[int, str]:
    """The queues that the user may inquire, or only that one: names by id."""
    names = names_for(user).items()
    return {pk: name for pk, name in names if wanted in ("", name)}


def rows_of(
    entries: list[Scheduled], names: Mapping[int, str], now: datetime
) -> list[ScheduledRow]:
    rules = rules_of({one.queue_id for one in entries})
    return [
        row_of(one, names[one.queue_id], rules.get(one.queue_id), now)
        for one in entries
    ]


def row_of(
    entry: Scheduled, queue: str, rule: AddressSetting | None, now: datetime
) -> ScheduledRow:
    limit = rule.max_delivery_attempts if rule else None
    limit = limit if limit and limit > 0 else None
    last = entry.backout_count + AHEAD
    failing = range(
        entry.backout_count + 1, (min(last, limit - 1) if limit else last) + 1
    )
    ahead = [redelivery_delay(rule, attempt, 0) for attempt in failing] if rule else []
    return ScheduledRow(
        entry,
        queue,
        rule.match if rule else "",
        limit,
        is_late=entry.due_at < now - timedelta(seconds=10),
        ahead=ahead,
        is_cut=limit is None or limit - 1 > last,
    )
