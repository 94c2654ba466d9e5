"""Strikes one link again and again, and counts what arrives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from tests.broker.elsewhere import pipe
from tests.tools.bridge_faults.crashing import Fault
from tests.tools.bridge_faults.pairs import Pair

SCRIPT = "from tests.tools.bridge_faults import crashing; crashing.serve()"
DONE_WITHIN_S = 300.0
STRIKES_WITHIN_S = 20.0  # a point that is not passed by then is none of this link's


@dataclass
class Found:
    """What was counted of one link."""

    sent: int = 0
    arrived: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    kills: int = 0
    cuts: int = 0
    missed: int = 0  # points that were not passed
    points: Counter[str] = field(default_factory=Counter)


class Struck:
    """A process that forks a bridge for each fault."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self.server = server

    def begin(self, fault: Fault) -> int:
        pipe(self.server.stdin).write(json.dumps(asdict(fault)) + "\n")
        pipe(self.server.stdin).flush()
        return int(pipe(self.server.stdout).readline())

    def end(self, pid: int) -> int:
        """Stop it, if it still is; its exit code."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        return int(pipe(self.server.stdout).readline())


def strike(pair: Pair, struck: Struck, random: Random, kills: int) -> Found:
    """Carry all of a pair's messages through so many faults."""
    found = Found(sent=pair.total)
    most = max(2, pair.total // (pair.link.batch * max(kills, 1)))
    while not pair.is_done():
        is_last = found.kills + found.cuts >= kills
        how = "cut" if pair.port and random.random() < 0.3 else "kill"
        fault = Fault(
            random.choice(pair.points),
            random.choice(("before", "after")),
            10**9 if is_last else random.randint(1, most),
            how,
            pair.port,
        )
        pid = struck.begin(fault)
        wait(pair, pid, DONE_WITHIN_S if is_last else STRIKES_WITHIN_S)
        code = struck.end(pid)
        if is_last:
            continue
        if code == -signal.SIGKILL:
            found.kills += 1
        elif how == "cut":
            found.cuts += 1
        else:
            found.missed += 1
            continue
        found.points[f"{fault.point} {fault.when}"] += 1
    return found


def wait(pair: Pair, pid: int, seconds: float) -> None:
    """Until a process has ended, or its link has nothing to do, or it is time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and is_alive(pid) and not pair.is_done():
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it has gone
        return False


def count(pair: Pair, found: Found) -> Found:
    numbers = pair.arrived()
    found.arrived = len(numbers)
    found.lost = pair.total - len(set(numbers))
    found.doubled = len(numbers) - len(set(numbers))
    seen = list(dict.fromkeys(numbers))
    found.out_of_order = sum(a > b for a, b in pairwise(seen))
    return found
