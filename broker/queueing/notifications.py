"""Notify consumers of new entries.

A put wakes the consumers of its own process directly. It wakes those of other processes
by a hint on Redis: at once if there was no put just before; while puts follow each
other, hints pause for ``SHORT_S`` to ``LONG_S``, and each names the queues of all puts
meanwhile. A process ignores its own hints, as its consumers have looked already. A hint
may be lost, and Redis may be down or not used (``REDIS_URL``), so every consumer looks
at its queue at least once in ``POLL_S``.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec

from django.conf import settings

from broker.sql.lines import database

HAS_REDIS = find_spec("redis") is not None  # without it, consumers poll
if HAS_REDIS:
    import redis

logger = logging.getLogger(__name__)

CHANNEL = "broker.arrivals"
# Shortest and longest pause between two hints; it doubles while puts go on.
SHORT_S, LONG_S = 0.001, 0.016
POLL_S = 1.0
AWAY_S = 5.0  # time during which Redis is not called after it did not answer


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
        if not uses_redis():
            return
        if "arrivals-say" not in self.threads:
            self.run_in_background("arrivals-say", self.say_for_ever)
        with self.changed:
            self.unsaid |= queue_ids
        self.to_say.set()

    def hear(self) -> None:
        """Receive hints from other processes, if Redis is used."""
        if uses_redis():
            self.run_in_background("arrivals-hear", self.hear_for_ever)

    def run_in_background(self, name: str, loop: partial[None] | object) -> None:
        with self.changed:
            if name not in self.threads:
                assert callable(loop)
                thread = threading.Thread(target=loop, name=name, daemon=True)
                self.threads[name] = thread
                thread.start()

    def say_for_ever(self) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2)
        session = client.connection_pool.make_connection()
        pause_s = SHORT_S
        while True:
            pause_s = next_pause(pause_s, more=self.to_say.is_set())
            self.to_say.wait()
            self.to_say.clear()
            with self.changed:
                queue_ids, self.unsaid = self.unsaid, set()
            try:
                numbers = self.sender, *queue_ids
                publish(session, ",".join(map(str, numbers)))
            except redis.RedisError as error:
                logger.info("No hint of arrivals was sent: %s", error)
                time.sleep(AWAY_S)
            time.sleep(pause_s)

    def hear_for_ever(self) -> None:
        while True:
            try:
                client = redis.Redis.from_url(settings.REDIS_URL)
                with client.pubsub(ignore_subscribe_messages=True) as heard:
                    heard.subscribe(CHANNEL)
                    for message in heard.listen():
                        self.heard(message["data"])
            except (redis.RedisError, ValueError) as error:
                logger.info("No hints of arrivals are heard: %s", error)
                time.sleep(AWAY_S)

    def heard(self, hint: bytes) -> None:
        """Note the queues of a hint of another process.

        Raises:
            ValueError: it is no hint.
        """
        numbers = list(map(int, filter(None, hint.split(b","))))
        if self.sender not in numbers:
            self.note(one for one in numbers if one > 0)


def publish(session: redis.connection.ConnectionInterface, hint: str) -> None:
    """Send a hint; on a new connection if the old one was lost.

    ``Redis.publish`` takes three times the processor's time, which counts: a process
    that puts all the time sends sixty hints a second.
    """
    for was_lost in (False, True):
        try:
            session.send_command("PUBLISH", CHANNEL, hint)
            session.read_response()
        except redis.ConnectionError:
            session.disconnect()
            if was_lost:
                raise
        else:
            return


def uses_redis() -> bool:
    """Whether hints go between processes."""
    return HAS_REDIS and bool(settings.REDIS_URL)


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


def wake_all() -> None:
    """Wake every waiter of this process, for example to stop it."""
    arrivals = here()
    with arrivals.changed:
        waited_for = list(arrivals.versions)
    arrivals.note(waited_for)
