"""Waiting until something may be there.

A put wakes the consumers of its own process directly, and those of others by a hint on
Redis, at most one in ``QUIET_S``. Hints may be lost and Redis may be gone, so nobody
waits longer than ``POLL_S`` without looking.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL = "broker.arrivals"
QUIET_S = 0.05
POLL_S = 1.0
AWAY_S = 5.0  # how long Redis is left alone when it does not answer


class Arrivals:
    """The arrivals that this process knows of: a version for each queue."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.changed = threading.Condition()
        self.versions: Counter[int] = Counter()
        self.unsaid: set[int] = set()
        self.to_say = threading.Event()
        self.threads: dict[str, threading.Thread] = {}
        self.subscribers: tuple[Callable[[list[int]], None], ...] = ()

    def note(self, queue_ids: Iterable[int]) -> None:
        changed = list(queue_ids)
        with self.changed:
            self.versions.update(changed)
            self.changed.notify_all()
        for tell in self.subscribers:
            tell(changed)

    def subscribe(self, tell: Callable[[list[int]], None]) -> None:
        """Have a function called with the queues of each arrival, after their versions
        have moved; in whichever thread notes it. It must not block, nor raise."""
        with self.changed:
            self.subscribers += (tell,)
        self.run_in_background("arrivals-hear", self.hear_for_ever)

    def unsubscribe(self, tell: Callable[[list[int]], None]) -> None:
        with self.changed:
            self.subscribers = tuple(one for one in self.subscribers if one != tell)

    def say(self, queue_ids: set[int]) -> None:
        if queue_ids <= self.unsaid:  # they are about to be said
            return
        self.run_in_background("arrivals-say", self.say_for_ever)
        with self.changed:
            self.unsaid |= queue_ids
        self.to_say.set()

    def run_in_background(self, name: str, loop: partial[None] | object) -> None:
        with self.changed:
            if name not in self.threads:
                assert callable(loop)
                thread = threading.Thread(target=loop, name=name, daemon=True)
                self.threads[name] = thread
                thread.start()

    def say_for_ever(self) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2)
        while True:
            self.to_say.wait()
            self.to_say.clear()
            with self.changed:
                queue_ids, self.unsaid = self.unsaid, set()
            try:
                client.publish(CHANNEL, ",".join(map(str, queue_ids)))
            except redis.RedisError as error:
                logger.info("No hint of arrivals was sent: %s", error)
                time.sleep(AWAY_S)
            time.sleep(QUIET_S)

    def hear_for_ever(self) -> None:
        while True:
            try:
                client = redis.Redis.from_url(settings.REDIS_URL)
                with client.pubsub(ignore_subscribe_messages=True) as heard:
                    heard.subscribe(CHANNEL)
                    for message in heard.listen():
                        self.note(map(int, filter(None, message["data"].split(b","))))
            except (redis.RedisError, ValueError) as error:
                logger.info("No hints of arrivals are heard: %s", error)
                time.sleep(AWAY_S)


_arrivals = Arrivals()


def here() -> Arrivals:
    global _arrivals  # noqa: PLW0603
    if _arrivals.pid != os.getpid():  # threads do not survive a fork
        _arrivals = Arrivals()
    return _arrivals


def announce_on_commit(queue_ids: set[int]) -> None:
    """Wake the consumers of these queues once the caller's transaction is committed."""
    if queue_ids:
        transaction.on_commit(partial(announce, queue_ids))


def announce(queue_ids: set[int]) -> None:
    arrivals = here()
    arrivals.note(queue_ids)
    arrivals.say(queue_ids)


def version(queue_id: int) -> int:
    """What to remember before looking at a queue, and to give to ``wait`` after."""
    return here().versions[queue_id]


def wait(queue_id: int, seen: int, *, longest_s: float = POLL_S) -> None:
    """Wait until something may have arrived since ``seen``, or it is time to look.

    An arrival between the look and the wait is not missed: it has moved the version.
    """
    wait_for_any({queue_id: seen}, longest_s=longest_s)


def wait_for_any(seen: Mapping[int, int], *, longest_s: float = POLL_S) -> None:
    """The same for several queues: versions seen, by queue."""
    arrivals = here()
    arrivals.run_in_background("arrivals-hear", arrivals.hear_for_ever)
    with arrivals.changed:
        for queue_id in seen:
            arrivals.versions.setdefault(queue_id, 0)  # so that wake_all knows of it
        arrivals.changed.wait_for(
            lambda: any(arrivals.versions[one] != then for one, then in seen.items()),
            min(longest_s, POLL_S),
        )


def wake_all() -> None:
    """Let every waiter of this process look again, as when it is to stop."""
    arrivals = here()
    with arrivals.changed:
        waited_for = list(arrivals.versions)
    arrivals.note(waited_for)
