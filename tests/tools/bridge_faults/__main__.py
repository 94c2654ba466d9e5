"""Strikes links at drawn points, and tells what was lost and what came twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from django.db import connection  # noqa: E402  # needs the settings

from broker import owner  # noqa: E402
from tests.broker.elsewhere import pipe, process  # noqa: E402
from tests.tools.bridge_faults import peers  # noqa: E402
from tests.tools.bridge_faults.crashing import Fault  # noqa: E402
from tests.tools.bridge_faults.pairs import Pair  # noqa: E402

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
    except FileNotFoundError:
        return False


def count(pair: Pair, found: Found) -> Found:
    numbers = pair.arrived()
    found.arrived = len(numbers)
    found.lost = pair.total - len(set(numbers))
    found.doubled = len(numbers) - len(set(numbers))
    seen = list(dict.fromkeys(numbers))
    found.out_of_order = sum(a > b for a, b in pairwise(seen))
    return found


@contextmanager
def own_database() -> Iterator[None]:
    """An empty one, beside that which is configured."""
    configured = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"{configured}_faults"
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        owner.resign()
        connection.creation.destroy_test_db(configured, verbosity=0)


def main() -> int:
    parser = ArgumentParser(prog="bridge_faults", description=__doc__)
    parser.add_argument("--links", nargs="+", default=list(peers.PAIRS))
    parser.add_argument("--messages", type=int, default=100_000, help="in all")
    parser.add_argument("--kills", type=int, default=100, help="and cuts, in all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--batch", type=int, default=50)
    options = parser.parse_args()
    random = Random(options.seed)
    each = options.messages // len(options.links)
    kills = -(-options.kills // len(options.links))
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.links:
            with own_database(), ExitStack() as stack:
                pair = peers.PAIRS[name](stack, Path(folder), options.batch)
                pair.total = each
                pair.put(0, each)
                server = stack.enter_context(process(SCRIPT))
                began = time.monotonic()
                found = strike(pair, Struck(server), random, kills)
                count(pair, found)
                print(
                    f"{name}: {found} in {time.monotonic() - began:.0f} s", flush=True
                )
                is_good &= not found.lost and (pair.may_double or not found.doubled)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
