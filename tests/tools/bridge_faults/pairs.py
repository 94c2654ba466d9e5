"""The links that are struck: between what, and how their messages get in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from broker.bridges.messages import message_of
from broker.bridges.providers.interface import Destination, Factory, ProviderSession
from broker.bridges.providers.registry import connect
from broker.models import ConnectionFactory, Link, LinkStatus
from broker.queueing.put import NewMessage, put_many
from tests.broker.bridges.linking import make_bridge, make_factory, make_link, taken
from tests.make import make_queue
from tests.tools.bridge_faults.numbered import numbered

CHUNK = 500
SOURCE, TARGET = "t.source", "t.target"
ALWAYS = ("fence", "note", "receive", "commit")
ALL_HERE = (*ALWAYS, "carry_out")
PLAIN_OUT = (*ALL_HERE, "send")
PLAIN_IN = (*ALWAYS, "send", "acknowledge")
TWO_PHASE = ("prepare", "decide", "decided", "send", "begin")
MARKED = ("promise", "keep_promise", "send", "acknowledge", "begin")
HERE = "this broker"  # a column of the docs
DIFFERENT = """
    SELECT count(DISTINCT correlation_id)
    FROM broker_ready JOIN broker_message USING (id)
    JOIN broker_queue AS queue ON queue.id = queue_id WHERE queue.name = %s
"""
NOTHING_LEFT = """
    SELECT NOT EXISTS (SELECT FROM broker_ready WHERE queue_id = id.of)
    AND NOT EXISTS (SELECT FROM broker_claim WHERE queue_id = id.of)
    AND NOT EXISTS (SELECT FROM broker_delayed WHERE queue_id = id.of)
    FROM (SELECT id FROM broker_queue WHERE name = %s) AS id (of)
"""


@dataclass(frozen=True)
class Victim:
    """A server that is killed, and started again on what it has kept."""

    pid: Callable[[], int]
    revive: Callable[[], None]


@dataclass
class Pair:
    """One link and its two ends."""

    name: str
    link: Link
    points: tuple[str, ...]
    remote: Factory | None  # the other provider; None: both ends are here
    is_inbound: bool
    may_double: bool
    column: str  # of the table of the docs, for what is between the ends
    victims: Mapping[str, Victim] = field(default_factory=dict)
    total: int = 0
    all_durable: bool = True
    now: datetime = field(default_factory=lambda: timezone.now().replace(microsecond=0))

    @property
    def port(self) -> int:
        return int(self.remote.url.rsplit(":", 1)[1].strip("/")) if self.remote else 0

    def message(self, number: int) -> NewMessage:
        return numbered(number, SOURCE, self.now, durable=self.all_durable)

    def put(self, first: int, count: int) -> None:
        """Put numbered messages at the source."""
        messages = [self.message(n) for n in range(first, first + count)]
        if not self.is_inbound:
            put_many(messages)
            return
        with self.session() as session:
            for start in range(0, count, CHUNK):
                part = messages[start : start + CHUNK]
                assert not any(session.send(part, Destination(SOURCE)))

    def arrived(self) -> list[NewMessage]:
        """All that is at the target, taken off it in the order in which it came."""
        if self.remote is None or self.is_inbound:
            return list(self.arrived_here())
        found: list[NewMessage] = []
        with self.session() as session:
            source = session.subscribe(Destination(TARGET), prefetch=CHUNK)
            while got := source.receive(CHUNK, 3.0):
                found += [one.message for one in got]
                source.acknowledge(got)
            source.close()
        return found

    def arrived_here(self) -> Iterator[NewMessage]:
        while got := taken(TARGET):
            yield from map(message_of, got)

    def is_done(self) -> bool:
        """Whether nothing is left to carry, nor in doubt."""
        if self.link.branches.exists():
            return False
        with connection.cursor() as cursor:
            if self.is_inbound:
                cursor.execute(DIFFERENT, [TARGET])
                return bool(cursor.fetchone()[0] == self.total)
            cursor.execute(NOTHING_LEFT, [SOURCE])
            return bool(cursor.fetchone()[0])

    @contextmanager
    def session(self) -> Iterator[ProviderSession]:
        assert self.remote is not None
        session = connect(self.remote)
        try:
            yield session
        finally:
            session.close()


def make_pair(
    name: str,
    remote: Factory | None = None,
    *,
    is_inbound: bool = False,
    points: tuple[str, ...],
    column: str = HERE,
    peer: Victim | None = None,
    **fields: Any,
) -> Pair:
    """A link between queues of the same names at both ends."""
    bridge = make_bridge(f"faults-{name}")
    for queue in (SOURCE, TARGET):
        make_queue(queue)
    factory = None
    if remote is not None:
        factory = stored(bridge, remote)
    link = make_link(
        name,
        bridge=bridge,
        source=SOURCE,
        target=TARGET,
        source_factory=factory if is_inbound else None,
        target_factory=None if is_inbound else factory,
        retain_reply_to=True,
        **fields,
    )
    LinkStatus.objects.filter(link=link).delete()
    LinkStatus.objects.create(link=link)
    is_safe = link.transacted or link.duplicate_detection
    return Pair(
        name,
        link,
        points,
        remote,
        is_inbound,
        may_double=not is_safe,
        column=column,
        victims={"peer": peer} if peer else {},
    )


def stored(bridge: Any, factory: Factory) -> ConnectionFactory:
    return make_factory(
        bridge,
        factory.name,
        factory.provider,
        url=factory.url,
        username=factory.username,
        password=factory.password,
        properties=dict(factory.properties),
        connect_interval_s=1,
    )
