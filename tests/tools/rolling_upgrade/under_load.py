"""A project whose programs run while clients put; it is counted what became of that."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psycopg
from cryptography.fernet import Fernet

from tests.tools.rolling_upgrade import installation
from tests.tools.rolling_upgrade.installation import Installation, Program, until

DRAINS_WITHIN_S = 120.0
# What the handler raises by itself now and then (``upgraded.handlers``), in the log of
# this version and of the one before.
WANTED = re.compile(
    r"^[^\n]+ was backed out: [^\n]*\n"
    r"(?:Traceback (?:(?!^Traceback).)*?HandlerError\n)?",
    re.M | re.S,
)
TROUBLE = re.compile(r"Traceback| (?:ERROR|CRITICAL) |cached plan")
LONG_MS = 100  # shorter waits are not told
COUNTS = """
SELECT count(*), array(SELECT body FROM handled WHERE times > 1),
    (SELECT count(*) FROM broker_ready JOIN broker_queue ON queue_id = broker_queue.id
        WHERE name = 'orders')
    + (SELECT count(*) FROM broker_delayed)
    + (SELECT coalesce(sum(cardinality(ids)), 0) FROM broker_claim)
FROM handled"""


class Counted(NamedTuple):
    """What the handlers noted, and what still waits for them."""

    handled: int  # messages
    doubled: list[str]  # those that were handled twice
    waiting: int


@dataclass
class Sent:
    """What the clients of one way say at their end."""

    sent: int = 0
    waits: list[tuple[float, float]] = field(default_factory=list)  # when, seconds
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, process: subprocess.Popen[str]) -> None:
        process.terminate()
        said, _ = process.communicate(timeout=60)
        found = json.loads(said)
        self.sent += found["sent"]
        self.waits += [(when, wait) for when, wait in found["waits"]]
        self.errors.update(found["errors"])

    def longest_ms(self, begins: float, ends: float) -> float:
        """Of the messages that waited then; 0: none was long."""
        waits = [
            wait for when, wait in self.waits if when + wait > begins and when < ends
        ]
        return 1000 * max(waits, default=0.0)


class UnderLoad:
    """The programs, the clients, and what was told.

    Args:
        folder: for logs, and the programs' own files.
        url: of the database.
        clients: how many there are of each way to put.
        rate: messages a second of each client.
    """

    def __init__(
        self, folder: Path, url: str, clients: Mapping[str, int], rate: float
    ) -> None:
        self.folder, self.url, self.clients, self.rate = folder, url, clients, rate
        self.running: list[Program] = []
        self.loads: list[tuple[str, subprocess.Popen[str]]] = []
        self.sent = {way: Sent() for way in clients}
        self.phases: list[tuple[str, float, float]] = []
        self.web, self.amqp = free_ports(2), free_ports(2)
        (folder / "var").mkdir()
        os.environ |= {  # of all processes
            "DATABASE_URL": url,
            "SECRET_KEY": "x" * 50,
            "BACKOUT_SECRET_KEYS": Fernet.generate_key().decode(),
            "BACKOUT_VAR": str(folder / "var"),
            "BACKOUT_TRUSTED_PROXIES": "",
            "HOST": "127.0.0.1",
            "WEB_PORTS": ",".join(map(str, self.web)),
            "AMQP_PORTS": ",".join(map(str, self.amqp)),
        }

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def prepare(self, of: Installation, messages: int = 0) -> None:
        """Make the tables, the queues and the clients' credential.

        Args:
            messages: so many lie there already.
        """
        log = self.log("prepare")
        of.run("manage.py", "migrate", "--no-input", "-v0", log=log)
        secret = of.run("-m", "upgraded.prepare", str(messages), log=log)
        os.environ["SECRET"] = secret.split()[-1]

    def phase(self, name: str, do: Callable[[], object], then_s: float) -> None:
        """Do something under load, then wait so long."""
        begins = time.time()
        do()
        print(f"{name}: {time.time() - begins:.1f} s", flush=True)
        time.sleep(then_s)
        self.phases.append((name, begins, time.time()))

    def start(self, of: Installation, name: str, which: int) -> None:
        """Start a program on its port; it gets work when this returns."""
        web, amqp = self.web[which], self.amqp[which]
        ports = {"PORT": str(web), "BROKER_AMQP_PORT": str(amqp)}
        log = self.log(f"{of.name}-{name}")
        self.running.append(of.program(name, log, **ports))
        if name == "web":
            until(lambda: installation.is_ready(web))
        elif name == "listener":
            until(lambda: is_open(amqp))

    def end(self, program: Program) -> None:
        self.running.remove(program)
        program.end()

    def load(self, of: Installation, ways: Collection[str]) -> None:
        for way in ways:
            for number in range(self.clients[way]):
                name = f"{way}-{of.name}-{number}"
                command = ("-m", "upgraded.load", way, name, str(self.rate))
                process = of.start(*command, log=self.log(f"load-{way}"))
                self.loads.append((way, process))

    def end_load(self, ways: Collection[str]) -> None:
        for way, process in self.loads:
            if way in ways:
                self.sent[way].add(process)
        self.loads = [one for one in self.loads if one[0] not in ways]

    def end_all(self) -> None:
        for _, process in self.loads:
            process.kill()
        for one in list(self.running):
            self.end(one)

    def drain(self) -> Counted:
        """What there is when nothing waits any more."""
        ends = time.monotonic() + DRAINS_WITHIN_S
        while (found := self.counted()).waiting and time.monotonic() < ends:
            time.sleep(0.5)
        return found

    def counted(self) -> Counted:
        with psycopg.connect(self.url) as line:
            row = line.execute(COUNTS).fetchone()
        assert row is not None
        return Counted(*row)

    def tell(self, counted: Counted, fsck: str) -> bool:
        """Print what was found; whether all is well."""
        handled, doubled, waiting = counted
        sent = sum(one.sent for one in self.sent.values())
        seconds = self.phases[-1][2] - self.phases[0][1]
        print("\n" + "".join(self.rows()))
        for way, one in self.sent.items():
            print(f"{way}: {one.sent:,} sent; failed attempts: {one.errors.total()}")
            for error, count in one.errors.most_common():
                print(f"  {count} × {error}")
        print(
            f"Sent {sent:,} ({sent / seconds:.0f}/s), handled {handled:,}, lost"
            f" {sent - handled}, handled twice {len(doubled)}, still waiting {waiting}."
        )
        print("Handled twice:", *doubled or ["none"])
        print(f"broker_fsck: {fsck.strip()}")
        troubles = self.troubles()
        print(
            f"{len(troubles)} lines of trouble in the logs.", *troubles[:30], sep="\n"
        )
        return not (sent != handled or doubled or waiting)

    def rows(self) -> list[str]:
        """The longest wait of a client in each phase, in ms."""
        found = [f"{'longest wait of a client, ms':32}"]
        found += [f"{way:>10}" for way in self.sent] + ["\n"]
        for name, begins, ends in self.phases:
            waits = [one.longest_ms(begins, ends) for one in self.sent.values()]
            words = [
                f"{one:10.0f}" if one else f"{'< ' + str(LONG_MS):>10}" for one in waits
            ]
            found += [f"{name:32}", *words, "\n"]
        return found

    def troubles(self) -> list[str]:
        """Lines of logs that should not be there."""
        return [
            f"{log.stem}: {line[:200]}"
            for log in sorted(self.folder.glob("*.log"))
            for line in WANTED.sub("", log.read_text()).splitlines()
            if TROUBLE.search(line)
        ]


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        lines = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in lines:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in lines]


def is_open(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0
