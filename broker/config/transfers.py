"""What carries messages by itself and is configured in packages above this one: links
of bridges, and rules for dead letters. Each adds a function to ``SOURCES`` at start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple


class Way(Enum):
    """Why a message moves by itself: words for it, and how to end the moves."""

    DEAD_LETTERS = (
        "dead letters",
        "allow -1 attempts for the address of {0}, or name another dead letter address",
    )
    EXPIRED = (
        "expired messages",
        "set “no expiry” for the address of {0}, or name another expiry address",
    )
    POISON = ("poison messages", "name another backout queue for {0}")
    LINK = ("link {1}", "give the link {1} a selector")
    DEAD_MESSAGES = (
        "dead messages of link {1}",
        "let the link {1} have another source or dead message queue",
    )
    RULE = ("rules of {0}", "let the rules of {0} forward to another queue")

    @property
    def words(self) -> str:
        return self.value[0]

    @property
    def remedy(self) -> str:
        return self.value[1]


QUEUE, ADDRESS, ELSEWHERE = "queue", "address", ""


class TransferEnd(NamedTuple):
    """Where a transfer begins or ends."""

    name: str
    # Kind of the end: a queue; an address, to which the transfer puts or subscribes; or
    # a destination at another broker.
    kind: str = QUEUE


class Transfer(NamedTuple):
    """Carries messages from one end to another."""

    source: TransferEnd
    target: TransferEnd
    way: Way
    by: str = ""  # name of what transfers the messages, such as a link


# Functions of other packages that return the active transfers.
SOURCES: list[Callable[[], Iterable[Transfer]]] = []


def stored() -> list[Transfer]:
    """All transfers, from all packages."""
    return [one for source in SOURCES for one in source()]
