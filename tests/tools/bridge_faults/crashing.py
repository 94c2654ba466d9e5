"""The bridge process that dies, or loses its connection, at one point of a transfer."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from tests.broker.crashing import kill_with_children

HERE = {  # points of this broker's own work, by the module or class that has them
    "broker.bridges.books": ("fence", "note"),
    "broker.bridges.providers.local": ("send",),
    "broker.bridges.providers.local:LocalSubscription": ("receive", "take_work"),
    "broker.bridges.ways.branches": (
        *("promise", "keep_promise", "break_promise", "recover"),
    ),
    "broker.bridges.decisions:Decisions": ("decide", "decided", "finish"),
    "broker.transactions.unit_of_work:UnitOfWork": ("carry_out",),
    "django.db.backends.base.base:BaseDatabaseWrapper": ("commit",),
}
SESSION = ("send", "begin", "commit", "prepare", "commit_prepared", "in_doubt")
SUBSCRIPTION = ("receive", "acknowledge", "release")


@dataclass
class Fault:
    """What is to happen, and when."""

    point: str
    when: str  # before or after
    count: int  # of calls of that point, from 1
    how: str  # kill or cut; or whose process is killed: peer or database
    port: int  # of the other provider; 0: there is none
    told: str  # a file that is made once it has happened, unless we are killed
    victim: int = 0  # the process that is killed in our place

    def strike(self) -> None:
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.how == "cut":
            cut(self.port)
        else:
            kill_with_children(self.victim)
        Path(self.told).touch()


def cut(port: int) -> None:
    for one in gc.get_objects():
        if isinstance(one, socket.socket):
            with suppress(OSError):
                if one.getpeername()[1] == port:
                    one.shutdown(socket.SHUT_RDWR)


class Struck:
    """Counts the calls of one point."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.calls = 0

    def watch(self, owner: Any, name: str) -> None:
        """Have the fault strike around one function of a module or class."""
        call = getattr(owner, name)
        if getattr(call, "is_watched", False) or name != self.fault.point:
            return
        setattr(owner, name, self.around(call))

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            is_now = self.calls == self.fault.count
            if is_now and self.fault.when == "before":
                self.fault.strike()
            found = call(*args, **kwargs)
            if is_now and self.fault.when == "after":
                self.fault.strike()
            return found

        watched.is_watched = True  # type: ignore[attr-defined]
        return watched


def install(fault: Fault) -> None:
    """Watch the point, wherever a link passes it."""
    from importlib import import_module  # noqa: PLC0415  # in the child alone

    from broker.bridges import ends  # noqa: PLC0415

    struck = Struck(fault)
    for place, names in HERE.items():
        module, _, cls = place.partition(":")
        owner = import_module(module)
        for name in names:
            struck.watch(getattr(owner, cls) if cls else owner, name)
    places: Any = ends
    connect = places.connect

    def connected(factory: Any) -> Any:
        session = connect(factory)
        for name in SESSION:
            struck.watch(type(session), name)
        subscribe = session.subscribe

        def subscribed(*args: Any, **kwargs: Any) -> Any:
            subscription = subscribe(*args, **kwargs)
            for name in SUBSCRIPTION:
                struck.watch(type(subscription), name)
            return subscription

        session.subscribe = subscribed
        return session

    places.connect = connected


def run(fault: Fault) -> None:
    """One bridge process, until it is told to stop or struck."""
    from broker.bridges.process import BridgeRunner  # noqa: PLC0415

    install(fault)
    bridge = BridgeRunner()
    signal.signal(signal.SIGTERM, lambda *_: bridge.stop())
    bridge.run()


def serve() -> None:
    """Fork a process for each fault that comes by a line; tell its number and its end.

    What is forked has everything imported, and no connection.
    """
    import broker.bridges.process  # noqa: F401, PLC0415

    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            os.environ["PGAPPNAME"] = f"process {os.getpid()}"
            run(Fault(**json.loads(line)))
            os._exit(0)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
