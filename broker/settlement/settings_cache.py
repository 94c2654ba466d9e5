"""Address settings, attributes of queues, and routes, as a connection read them last.

They may be old. So a statement that acts by them is given the texts ``policy`` and
``route`` that follow from them. It makes these texts itself from the tables, and fails
if they differ; then nothing was changed.

The version of the settings is a digest of where their rows are and which transactions
wrote them. While a connection lasts, no other settings have the same; a new connection
reads everything anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg

from broker import sql
from broker.config.address_settings import DEFAULTS, Policy, merge, policy_of
from broker.formats.wildcards import Syntax, configured
from broker.models import AddressSetting, Queue
from broker.queueing.arrival_expiry import lifetime_by
from broker.queueing.routing import Route, route_to
from broker.sql.lines import connected

NEWLINE = "\n"
MOST_QUEUES = 10_000  # then those that were read are forgotten


class QueueAttributes(NamedTuple):
    """What the policy of a queue follows from, beside the address settings."""

    id: int
    threshold: int
    kind: int
    address: str


class LetterRoute(NamedTuple):
    """The queues of an address, and the time to live that it gives to copies."""

    route: Route
    lifetime: timedelta | None


@dataclass(slots=True)
class SettingsCache:
    """What one connection has read."""

    version: str | None = None  # of the settings; None: nothing was read yet
    settings: list[AddressSetting] = field(default_factory=list)
    merged: dict[tuple[QueueAttributes, Syntax], AddressSetting] = field(
        default_factory=dict
    )
    queues: dict[int, QueueAttributes] = field(default_factory=dict)
    destinations: dict[tuple[str, Syntax], LetterRoute] = field(default_factory=dict)

    def note(self, queues: Iterable[QueueAttributes], version: str) -> None:
        """Take over what a statement has read; read the settings if they changed."""
        if version != self.version:
            self.version, rows = sql.fetch_one("settings")
            self.settings = list(map(setting_of, rows))
            self.merged.clear()
            self.destinations.clear()
        if len(self.queues) >= MOST_QUEUES:
            self.queues.clear()
            self.merged.clear()
        self.queues.update({one.id: one for one in queues})

    def has_read(self, queue_ids: Iterable[int]) -> bool:
        return self.version is not None and self.queues.keys() >= set(queue_ids)

    def rules_of(self, queue_ids: Iterable[int]) -> dict[int, AddressSetting]:
        """The merged settings of each queue that was read."""
        known = self.queues
        return {one: self.rule_of(known[one]) for one in queue_ids if one in known}

    def rule_of(self, queue: QueueAttributes) -> AddressSetting:
        """The merged settings of a queue, with its poison policy.

        The broker does not limit delivery attempts on internal queues, nor on queues
        whose policy leaves poison messages to consumers or to nobody.

        Source:
            ActiveMQ Artemis, QueueImpl.checkRedelivery: internal queues have no limit.
        """
        key = queue, configured()
        if key in self.merged:
            return self.merged[key]
        rule = merge(queue.address, self.settings)
        rule.poison_policy = policy_of(rule, queue.threshold)
        limited = rule.poison_policy in (Policy.ARTEMIS, Policy.BOTH)
        if not limited or queue.kind == Queue.Kind.INTERNAL:
            rule.max_delivery_attempts = -1
        self.merged[key] = rule
        return rule

    def policy(self, queue_ids: Iterable[int]) -> str:
        """What the policy of these queues follows from, as put_back.sql writes it."""
        lines = [
            f"{one.id} {one.threshold} {one.kind} {one.address}"
            for one in map(self.queues.__getitem__, sorted(queue_ids))
        ]
        return f"{self.version}{NEWLINE.join(lines)}"

    def destination(self, address: str) -> LetterRoute:
        """Where a dead letter for an address goes; read if it was not read before."""
        key = address, configured()
        if key not in self.destinations:
            lifetime = lifetime_by(merge(address, self.settings))
            self.destinations[key] = LetterRoute(route_to(address), lifetime)
        return self.destinations[key]

    def forget(self) -> None:
        """Have everything read anew: a statement has found that it is old."""
        self.version = None
        self.queues.clear()
        self.destinations.clear()


caches: WeakKeyDictionary[psycopg.Connection[Any], SettingsCache] = WeakKeyDictionary()


def settings_cache() -> SettingsCache:
    """What the connection of this thread has read."""
    line = connected().connection
    if (cache := caches.get(line)) is None:
        cache = caches[line] = SettingsCache()
    return cache


def rules_of(queue_ids: set[int]) -> dict[int, AddressSetting]:
    """The merged settings of each queue that exists, with its poison policy, as they
    are now."""
    cache = settings_cache()
    rows = sql.run("rules", {"queue_ids": list(queue_ids)})
    found = {QueueAttributes(*row[:4]): row[4] for row in rows}
    for version in set(found.values()):
        cache.note(found, version)
    return cache.rules_of(one.id for one in found)


def setting_of(row: Mapping[str, Any]) -> AddressSetting:
    return AddressSetting(**{name: row[name] for name in ("match", *DEFAULTS)})
