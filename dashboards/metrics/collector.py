"""The collector of the broker's metrics.

All values are queried together and cached for a second, so that every web process gives
the same result and a scrape costs a dozen queries. No counter is kept in the process:
they are the journal's.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, QuerySet, Sum, Value
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from broker.alerts.names import QUEUE
from broker.models import (
    Alert,
    AlertRule,
    ClientConnection,
    ClientEndpoint,
    ConnectionConsumer,
    Kind,
    Operation,
    Owner,
    Queue,
    UnitOfWork,
)
from broker.monitoring import disk, queue_states, search, silent_processes, wait_times
from broker.problems import conditions
from broker.queueing import journal
from dashboards import sql
from dashboards.live import problems
from dashboards.metrics import bridge_links
from dashboards.metrics.families import Family

KEY = "dashboards.metrics"
KEPT_S = 1
PATIENCE = timedelta(seconds=5)  # the longest time of one query
# The most queues that have series of their own: each adds some dozens of series.
MOST_QUEUES = 5000

# Events whose counter is exported before the first event, as 0: Prometheus computes
# rates only of counters that it has seen before.
ALWAYS = (Kind.PUT, Kind.GET, Kind.ACCEPT, Kind.BACK_OUT, Kind.DEAD_LETTER, Kind.EXPIRE)
NAMES = {"queue", "bridge", "link", "subject"}  # labels that name one object
STATES = ("ready", "in_flight", "delayed")


MESSAGES = Family(
    "backout_queue_messages",
    "Messages on a queue now.",
    ("queue", "state"),
)
EVENTS = Family(
    "backout_queue_events_total",
    "Events of messages on a queue since it was created.",
    ("queue", "event"),
)
DEAD = Family(
    "backout_queue_dead_letters",
    "Messages on a queue that takes dead letters; only such queues have a series.",
    ("queue",),
)
OLDEST = Family(
    "backout_queue_oldest_message_age_seconds",
    "Age of the oldest message at the head of a queue; 0 on an empty queue.",
    ("queue",),
)
CONSUMERS = Family(
    "backout_queue_consumers",
    "AMQP clients that get from a queue now.",
    ("queue",),
)
BUSY = Family(
    "backout_consumers_busy_ratio",
    "Share of the last minute in which consumers of a queue had a message in work.",
    ("queue", "kind"),
)
PAUSED = Family("backout_queue_paused", "1 while a queue is paused.", ("queue",))
STOPPED = Family(
    "backout_queue_stopped",
    "1 while delivery is stopped because a message has no place to go.",
    ("queue",),
)
QUEUES = Family("backout_queues", "Number of queues; the first 5,000 have series.")
CONNECTIONS = Family("backout_connections", "AMQP clients that are connected.")
ENDPOINTS = Family(
    "backout_endpoints", "Open endpoints of these clients, by kind.", ("kind",)
)
PROCESSES = Family(
    "backout_processes", "Processes that hold messages or clients, by kind.", ("kind",)
)
SILENT = Family(
    "backout_processes_silent",
    "Processes that do not answer, by kind.",
    ("kind",),
)
UNITS = Family(
    "backout_units_of_work",
    "Units of work; prepared ones wait for their coordinator.",
    ("state",),
)
OPEN = Family(
    "backout_unit_of_work_oldest_age_seconds",
    "Age of the oldest unit of work with a deadline.",
)
OPERATIONS = Family("backout_operations", "Operations that have not ended.", ("state",))
LATENESS = Family(
    "backout_delayed_lateness_seconds",
    "How late the delayed message is that has been due longest; 0 if none is late.",
)
LAG = Family(
    "backout_journal_lag_seconds",
    "Age of the oldest event that the tally lacks.",
)
DISK = Family(
    "backout_disk_bytes",
    "Size of the disk of BACKOUT_VAR, and its free space.",
    ("kind",),
)
ALERTS = Family(
    "backout_alerts", "Alerts that fire or are acknowledged.", ("severity", "state")
)
UNSENT = Family(
    "backout_alert_notifications_failed_total",
    "Notifications of alerts that could not be delivered.",
)
PROBLEM = Family(
    "backout_problem",
    "How much is wrong now, by what it is and of what: messages, letters, seconds.",
    ("condition", "subject"),
)
PROBLEMS = Family(
    "backout_problems", "What is wrong now: how many problems.", ("condition",)
)
SCRAPE = Family("backout_scrape_duration_seconds", "Time to collect these metrics.")
FAMILIES = (
    *(MESSAGES, EVENTS, DEAD, OLDEST, CONSUMERS, BUSY, PAUSED, STOPPED, QUEUES),
    *(CONNECTIONS, ENDPOINTS, PROCESSES, SILENT, UNITS, OPEN, OPERATIONS),
    *(LATENESS, LAG, DISK, ALERTS, UNSENT, PROBLEM, PROBLEMS, SCRAPE),
    *bridge_links.FAMILIES,
)


def exposition(*, named: bool = True) -> bytes:
    """All metrics as text; at most a second old.

    Args:
        named: include the metrics of single queues and links, which name them.

    Raises:
        SearchTooLong: the database took too long for one query.
        DatabaseError: the database is not available.
    """
    key = KEY if named else f"{KEY}.unnamed"
    found: bytes | None = cache.get(key)
    if found is None:
        registry = CollectorRegistry()
        registry.register(Numbers() if named else UnnamedNumbers())
        found = generate_latest(registry)
        cache.set(key, found, KEPT_S)
    return found


class Numbers(Collector):
    """The present values from the database, as a collector."""

    def describe(self) -> Iterable[Metric]:
        """Empty; otherwise registration would collect the values."""
        return []

    def collect(self) -> Iterator[Metric]:
        began_s = time.perf_counter()
        with search.patiently(PATIENCE):
            metrics = [
                *of_queues(),
                *of_clients(),
                *of_work(),
                *of_disk(),
                *of_alerts(),
                *of_problems(),
                *bridge_links.of_links(),
            ]
        yield from metrics
        yield SCRAPE.is_(time.perf_counter() - began_s)


class UnnamedNumbers(Numbers):
    """The values that belong to no single queue or link."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            labels = {label for sample in metric.samples for label in sample.labels}
            if not labels & NAMES:
                yield metric


def of_queues() -> Iterator[Metric]:
    """The metrics of queues. Four queries, however many queues there are."""
    every = queue_states.states()
    queues = sorted(every, key=lambda one: one.pk)[:MOST_QUEUES]
    oldest = wait_times.ages()
    yield MESSAGES.of(
        ((one.name, state), number)
        for one in queues
        for state, number in states_of(one.depth)
    )
    yield EVENTS.of(
        ((one.name, word_of(kind)), number)
        for one in queues
        for kind, number in events_of(one.depth)
    )
    yield DEAD.of(
        ((one.name,), one.depth.total) for one in queues if one.takes_dead_letters
    )
    yield OLDEST.of(((one.name,), oldest.get(one.pk, 0.0)) for one in queues)
    yield PAUSED.of(((one.name,), one.paused) for one in queues)
    yield STOPPED.of(((one.name,), one.stopped) for one in queues)
    yield QUEUES.is_(len(every))


def states_of(depth: journal.Depth) -> Iterator[tuple[str, int]]:
    yield from zip(STATES, (depth.ready, depth.claimed, depth.delayed), strict=True)


def events_of(depth: journal.Depth) -> Iterator[tuple[Kind, int]]:
    for kind in Kind:
        number = depth.done.get(kind, 0)
        if number or kind in ALWAYS:
            yield kind, number


def word_of(kind: Kind) -> str:
    """The name of an event as a label: ``dead_lettered``."""
    return str(kind.label).replace(" ", "_").replace("-", "_")


def of_clients() -> Iterator[Metric]:
    """Connections, their endpoints, and processes. Seven queries."""
    yield CONNECTIONS.is_(ClientConnection.objects.count())
    endpoints = ClientEndpoint.objects.order_by()
    kinds = dict(endpoints.values_list("kind").annotate(count=Count("pk")))
    yield ENDPOINTS.of(
        ((kind,), kinds.get(kind, 0)) for kind in ClientEndpoint.Kind.values
    )
    gets = endpoints.filter(kind=ClientEndpoint.Kind.GETS, queue__isnull=False)
    consumers = gets.values_list("queue__name").annotate(count=Count("pk"))
    yield CONSUMERS.of(((name,), number) for name, number in consumers)
    handlers = ConnectionConsumer.objects.order_by()
    shares = [
        *busy("client", gets, Value(1)),
        *busy("handler", handlers, F("server_sessions")),
    ]
    yield BUSY.of(shares)
    owners = Owner.objects.order_by().values_list("kind").annotate(count=Count("pk"))
    yield PROCESSES.of(((kind,), number) for kind, number in owners)
    hang = Counter(one.kind for one in silent_processes.silent())
    yield SILENT.of(((kind,), hang[kind]) for kind in silent_processes.KINDS)


def busy(
    kind: str, rows: QuerySet[Any], sessions: F | Value
) -> Iterator[tuple[tuple[str, str], float]]:
    """The share of time in which the consumers of each queue worked, as a mean over
    their sessions."""
    known = rows.filter(busy_percent__isnull=False).values_list("queue__name")
    for name, busy, every in known.annotate(
        busy=Sum(F("busy_percent") * sessions), every=Sum(sessions)
    ):
        yield (name, kind), busy / every / 100


def of_work() -> Iterator[Metric]:
    """Work in progress, and what is overdue. Three queries."""
    prepared, every = UnitOfWork.objects.aggregate(
        prepared=Count("xid"), every=Count("pk")
    ).values()
    yield UNITS.of([(("open",), every - prepared), (("prepared",), prepared)])
    waiting = (Operation.State.PLANNED, Operation.State.RUNNING)
    ordered = Operation.objects.filter(state__in=waiting).order_by()
    states = dict(ordered.values_list("state").annotate(count=Count("pk")))
    yield OPERATIONS.of(((state,), states.get(state, 0)) for state in waiting)
    late_s, unfolded_s, open_s = sql.fetch_one("lags")
    yield LATENESS.is_(late_s)
    yield LAG.is_(unfolded_s)
    yield OPEN.is_(open_s)


def of_alerts() -> Iterator[Metric]:
    """Alerts, and notifications that could not be delivered. Three queries."""
    standing = Alert.objects.filter(is_settled=False, state__in=Alert.STANDING)
    rows = standing.order_by().values_list("severity", "state")
    counts = {(one, state): n for one, state, n in rows.annotate(count=Count("pk"))}
    kinds = [
        (one, state) for one in AlertRule.Severity.values for state in Alert.STANDING
    ]
    yield ALERTS.of((kind, counts.get(kind, 0)) for kind in kinds)
    own = list(Queue.objects.filter(name=QUEUE).values_list("pk", flat=True))
    found = journal.depths(own).values() if own else ()
    yield UNSENT.is_(sum(one.done[Kind.DEAD_LETTER] for one in found))


def of_problems() -> Iterator[Metric]:
    """What is wrong now. As many queries however much it is."""
    found = problems.now()
    counts = Counter(one.condition for one in found)
    yield PROBLEM.of(((one.condition, one.subject), one.value) for one in found)
    yield PROBLEMS.of(((name,), counts[name]) for name in conditions.table())


def of_disk() -> Iterator[Metric]:
    """The disk's space. No query."""
    found = disk.look()
    if found is not None:
        yield DISK.of([(("total",), found.total), (("free",), found.free)])
