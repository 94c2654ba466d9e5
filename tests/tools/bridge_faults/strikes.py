"""Strikes one link again and again, and counts what arrives."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from django.db import Error as DatabaseError
from django.db import connection

from broker.models import LinkStatus
from broker.queueing.store import NewMessage
from tests.broker.elsewhere import Process, process, said, tell
from tests.console.until import until
from tests.tools.bridge_faults.crashing import Fault
from tests.tools.bridge_faults.numbered import number_of, unlike, words_of
from tests.tools.bridge_faults.pairs import Pair

SCRIPT = "from tests.tools.bridge_faults import crashing; crashing.serve()"
DONE_WITHIN_S = 300.0
STRIKES_WITHIN_S = 20.0  # a point that is not passed by then is none of this link's
EVERY_S = 0.1
WEIGHTS = {"kill": 6, "cut": 2, "peer": 1, "database": 1}


@dataclass
class Found:
    """What was counted of one link."""

    sent: int = 0
    arrived: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0  # among those of one priority and mode, as JMS has it
    changed: int = 0  # not as the table of the docs says
    struck: Counter[str] = field(default_factory=Counter)  # how
    tries: int = 0
    missed: int = 0  # points that were not passed
    points: Counter[str] = field(default_factory=Counter)
    first_change: str = ""
    wrong: list[str] = field(default_factory=list)  # of the rules of the database


class Struck:
    """A process that forks a bridge for each fault."""

    def __init__(self, server: Process, folder: Path) -> None:
        self.server = server
        self.folder = folder  # of what the bridges tell
        self.pid = 0  # of the bridge that runs; 0: none

    def begin(self, fault: Fault) -> int:
        tell(self.server, json.dumps(asdict(fault)))
        self.pid = int(said(self.server))
        return self.pid

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop the bridge, if it still runs; its exit code."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, how)
        self.pid = 0
        return int(said(self.server))


@contextmanager
def struck() -> Iterator[Struck]:
    with process(SCRIPT) as server, TemporaryDirectory() as folder:
        one = Struck(server, Path(folder))
        try:
            yield one
        finally:
            if one.pid:
                one.end(signal.SIGKILL)


def strike(pair: Pair, struck: Struck, random: Random, kills: int) -> Found:
    """Carry all of a pair's messages through so many faults."""
    found = Found(sent=pair.total)
    most = max(2, pair.total // (pair.link.batch * max(kills, 1)))
    while not pair.is_done():
        is_last = found.struck.total() >= kills
        fault = drawn(pair, random, 10**9 if is_last else random.randint(1, most))
        fault.told = str(struck.folder / f"{found.tries}")
        found.tries += 1
        pid = struck.begin(fault)
        wait(pair, pid, fault, DONE_WITHIN_S if is_last else STRIKES_WITHIN_S)
        is_hit = has_happened(fault)
        if is_hit:
            if victim := pair.victims.get(fault.how):
                victim.revive()
            until_it_goes_on(pair, pid)
        code = struck.end()
        if is_hit or code == -signal.SIGKILL:
            found.struck[fault.how] += 1
            found.points[f"{fault.point} {fault.when}"] += 1
    found.missed = max(0, found.tries - found.struck.total() - 1)
    return found


def drawn(pair: Pair, random: Random, count: int) -> Fault:
    ways = ["kill", *(["cut"] if pair.port else []), *pair.victims]
    (how,) = random.choices(ways, [WEIGHTS[one] for one in ways])
    victim = pair.victims.get(how)
    return Fault(
        random.choice(pair.points),
        random.choice(("before", "after")),
        count,
        how,
        pair.port,
        "",
        victim.pid() if victim else 0,
    )


def wait(pair: Pair, pid: int, fault: Fault, seconds: float) -> None:
    """Until a process has ended, or its link has nothing to do, or it is time."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s and is_alive(pid) and not has_happened(fault):
        if is_done(pair):
            return
        time.sleep(EVERY_S)


def has_happened(fault: Fault) -> bool:
    return Path(fault.told).exists()


def is_done(pair: Pair) -> bool:
    """Whether it is known to be; the database may be gone."""
    try:
        return pair.is_done()
    except DatabaseError:
        connection.close()
        return False


def until_it_goes_on(pair: Pair, pid: int) -> None:
    """Until the process that lost a server carries messages again, or has ended."""
    sent = LinkStatus.objects.get(link=pair.link).sent

    def goes_on() -> bool:
        if not is_alive(pid) or is_done(pair):
            return True
        return LinkStatus.objects.get(link=pair.link).sent > sent

    until(goes_on, DONE_WITHIN_S)


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it has gone
        return False


def count(pair: Pair, found: Found) -> Found:
    """Take what has arrived, and hold each message to what was sent."""
    arrived = pair.arrived()
    first: dict[int, NewMessage] = {}
    for one in arrived:
        first.setdefault(number_of(one), one)
    found.arrived = len(arrived)
    found.lost = pair.total - len(first)
    found.doubled = len(arrived) - len(first)
    lanes: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for number, one in first.items():
        lanes[one.priority, one.durable].append(number)
    found.out_of_order = sum(
        a > b for lane in lanes.values() for a, b in pairwise(lane)
    )
    words = words_of(pair.column)
    for number, one in first.items():
        unlikes = list(unlike(pair.message(number), one, words))
        found.changed += bool(unlikes)
        found.first_change = found.first_change or "".join(unlikes[:1])
    return found
