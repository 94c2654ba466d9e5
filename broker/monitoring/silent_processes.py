"""Processes that hold their lock, and so count as alive, but do not run: they hang, or
were stopped (SIGSTOP)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from broker import sql
from broker.queueing import processes

# Processes of these kinds use the connection of their lock every few seconds, even
# while they do other work.
KINDS = ("dispatcher", "listener", "bridge", "worker", "beat")
SILENCE = timedelta(seconds=3 * processes.HEARTBEAT_S)


@dataclass(frozen=True, slots=True)
class SilentProcess:
    """A process that has not used the connection of its lock for some time."""

    kind: str
    host: str
    pid: int
    silent_s: float

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} on {self.host}"


def silent(silence: timedelta = SILENCE) -> list[SilentProcess]:
    """The processes that have been silent for longer than ``silence``, by the
    database's clock. One query."""
    return sql.fetch(
        "silent",
        SilentProcess,
        lock_class=processes.LOCK_CLASS,
        kinds=list(KINDS),
        silence=silence,
    )
