"""Notify consumers of new entries.

A put wakes the consumers of its own process directly. It wakes those of other processes
by a hint: at once if there was no put just before; while puts follow each other, hints
pause for ``SHORT_S`` to ``LONG_S``, and each names the queues of all puts meanwhile. A
process ignores its own hints, as its consumers have looked already.

Redis carries the hints, or PostgreSQL where ``REDIS_URL`` is empty. A hint may be lost,
and Redis may be down, so every consumer looks at its queue at least once in ``POLL_S``.
PostgreSQL makes the commits of those who notify wait for each other. So no transaction
of a put notifies: a thread does, after it.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Protocol

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError

from broker.errors import BrokerError
from broker.queueing import processes
from broker.sql.lines import database
from broker.sql.waits import Waits

HAS_REDIS = find_spec("redis") is not None
if HAS_REDIS:
    import redis

logger = logging.getLogger(__name__)

CHANNEL = "broker.arrivals"
# Shortest and longest pause between two hints; it doubles while puts go on.
SHORT_S, LONG_S = 0.001, 0.016
POLL_S = 1.0
AWAY_S = 5.0  # longest time for which nobody is called who did not answer
MOST_BYTES = 7000  # of a notification of PostgreSQL, which allows 8000


class Arrivals:
    """The notifications of this process: a version number for each queue."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        # Names this process in its hints; below zero, as no id of a queue is.
        self.sender = -random.getrandbits(62) - 1
        self.changed = threading.Condition()
        self.versions: Counter[int] = Counter()
        self.unsaid: set[int] = set()
        self.to_say = threading.Event()
        self.threads: dict[str, threading.Thread] = {}
        self.subscribers: tuple[Callable[[list[int]], None], ...] = ()

    def note(self, queue_ids: Iterable[int]) -> None:
        changed = list(queue_ids)
        with self.changed:
            for one in changed:  # ``update`` takes longer: it looks for mappings
                self.versions[one] += 1
            self.changed.notify_all()
        for tell in self.subscribers:
            tell(changed)

    def subscribe(self, tell: Callable[[list[int]], None]) -> None:
        """Call a function with the queue ids of each notification, after their versions
        have changed. It runs in the notifying thread; it must not block or raise."""
        with self.changed:
            self.subscribers += (tell,)
        self.hear()

    def unsubscribe(self, tell: Callable[[list[int]], None]) -> None:
        with self.changed:
            self.subscribers = tuple(one for one in self.subscribers if one != tell)

    def say(self, queue_ids: set[int]) -> None:
        if queue_ids <= self.unsaid:  # another call is about to publish these queues
            return
        if "arrivals-say" not in self.threads:
            self.run_in_background("arrivals-say", self.say_for_ever)
        with self.changed:
            self.unsaid |= queue_ids
        self.to_say.set()

    def hear(self) -> None:
        """Receive hints from other processes."""
        self.run_in_background("arrivals-hear", self.hear_for_ever)

    def run_in_background(self, name: str, loop: partial[None] | object) -> None:
        with self.changed:
            if name not in self.threads:
                assert callable(loop)
                thread = threading.Thread(target=loop, name=name, daemon=True)
                self.threads[name] = thread
                thread.start()

    def say_for_ever(self) -> None:
        carrier, waits = carrier_of_hints(), Waits(AWAY_S)
        pause_s = SHORT_S
        while True:
            pause_s = next_pause(pause_s, more=self.to_say.is_set())
            self.to_say.wait()
            self.to_say.clear()
            with self.changed:
                queue_ids, self.unsaid = self.unsaid, set()
            try:
                numbers = self.sender, *queue_ids
                carrier.publish(",".join(map(str, numbers)))
            except carrier.errors as error:
                logger.info("No hint of arrivals was sent: %s", error)
                time.sleep(waits.next_s())
            time.sleep(pause_s)

    def hear_for_ever(self) -> None:
        carrier, waits = carrier_of_hints(), Waits(AWAY_S)
        while True:
            try:
                carrier.listen(self.heard)
            except carrier.errors as error:
                logger.info("No hints of arrivals are heard: %s", error)
                time.sleep(waits.next_s())

    def heard(self, hint: bytes | str) -> None:
        """Note the queues of a hint of another process."""
        text = hint if isinstance(hint, str) else hint.decode(errors="replace")
        try:
            numbers = list(map(int, filter(None, text.split(","))))
        except ValueError as error:
            logger.info("What is on the channel %s is no hint: %s", CHANNEL, error)
            return
        if self.sender not in numbers:
            self.note(one for one in numbers if one > 0)


class Carrier(Protocol):
    """What carries hints to other processes."""

    errors: tuple[type[Exception], ...]

    def publish(self, hint: str) -> None: ...

    def listen(self, heard: Callable[[bytes | str], None]) -> None:
        """Call a function with each hint, until the connection is lost."""


class ByRedis:
    """Hints over Redis."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self) -> None:
        self.errors = (redis.RedisError, ValueError)  # of a URL that is none
        self.session: redis.connection.ConnectionInterface | None = None

    def publish(self, hint: str) -> None:
        """Send a hint; on a new connection if the old one was lost.

        ``Redis.publish`` takes three times the processor's time, which counts: a
        process that puts all the time sends sixty hints a second.
        """
        if self.session is None:
            client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2)
            self.session = client.connection_pool.make_connection()
        for was_lost in (False, True):
            try:
                self.session.send_command("PUBLISH", CHANNEL, hint)
                self.session.read_response()
            except redis.ConnectionError:
                self.session.disconnect()
                if was_lost:
                    raise
            else:
                return

    def listen(self, heard: Callable[[bytes | str], None]) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL)
        with client.pubsub(ignore_subscribe_messages=True) as subscribed:
            subscribed.subscribe(CHANNEL)
            for message in subscribed.listen():
                heard(message["data"])


class ByPostgres:
    """Hints over PostgreSQL, on connections that lead past a pooler."""

    errors: tuple[type[Exception], ...] = (DatabaseError, BrokerError)

    def __init__(self) -> None:
        self.session: psycopg.Connection | None = None

    def publish(self, hint: str) -> None:
        with database().wrap_database_errors:
            if self.session is None or self.session.closed:
                self.session = processes.session_until_resigned(CHANNEL)
            for part in parts_of(hint):
                self.session.execute("SELECT pg_notify(%s, %s)", [CHANNEL, part])

    def listen(self, heard: Callable[[bytes | str], None]) -> None:
        processes.listen(CHANNEL, heard)
        time.sleep(POLL_S)  # this process is not registered yet, or anew


def parts_of(hint: str) -> Iterator[str]:
    """A hint in parts that fit into a notification; each begins with the sender."""
    sender, *queue_ids = hint.split(",")
    each = MOST_BYTES // 12  # a number and a comma
    for start in range(0, len(queue_ids), each):
        yield ",".join([sender, *queue_ids[start : start + each]])


def carrier_of_hints() -> Carrier:
    return ByRedis() if HAS_REDIS and settings.REDIS_URL else ByPostgres()


def next_pause(pause_s: float, *, more: bool) -> float:
    """The pause after the next hint, in seconds: doubled if a put came during the last
    pause."""
    return min(2 * pause_s, LONG_S) if more else SHORT_S


_arrivals = Arrivals()


def here() -> Arrivals:
    global _arrivals  # noqa: PLW0603
    if _arrivals.pid != os.getpid():  # threads do not survive a fork
        _arrivals = Arrivals()
    return _arrivals


def announce_on_commit(queue_ids: set[int]) -> None:
    """Wake the consumers of these queues once the caller's transaction is committed."""
    if not queue_ids:
        return
    django = database()
    if django.autocommit and not django.in_atomic_block:
        announce(queue_ids)  # it is committed
    else:
        django.on_commit(partial(announce, queue_ids))


def announce(queue_ids: set[int]) -> None:
    arrivals = here()
    arrivals.note(queue_ids)
    arrivals.say(queue_ids)


def version(queue_id: int) -> int:
    """The version of a queue. Read it before looking at the queue, then pass it to
    ``wait``."""
    return here().versions[queue_id]


def wait(queue_id: int, seen: int, *, longest_s: float = POLL_S) -> None:
    """Wait until an entry may have arrived since version ``seen``, or ``longest_s`` is
    over.

    An arrival between the look and the wait is not missed, because it changes the
    version.
    """
    wait_for_any({queue_id: seen}, longest_s=longest_s)


def wait_for_any(seen: Mapping[int, int], *, longest_s: float = POLL_S) -> None:
    """Like ``wait``, for several queues: versions by queue id."""
    arrivals = here()
    arrivals.hear()
    with arrivals.changed:
        for queue_id in seen:
            # ``wake_all`` changes the versions that exist, so the queue must have one.
            arrivals.versions.setdefault(queue_id, 0)
        arrivals.changed.wait_for(
            lambda: any(arrivals.versions[one] != then for one, then in seen.items()),
            min(longest_s, POLL_S),
        )


def wake(queue_id: int) -> None:
    """Wake the consumers of a queue in this process, as after an arrival."""
    here().note([queue_id])


def wake_all() -> None:
    """Wake every waiter of this process, for example to stop it."""
    arrivals = here()
    with arrivals.changed:
        waited_for = list(arrivals.versions)
    arrivals.note(waited_for)
