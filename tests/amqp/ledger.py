"""What clients were told of every message, and whether it all can be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from broker.amqp.protocol.performatives import (
    Accepted,
    DeliveryState,
    Rejected,
    Released,
)


@dataclass
class Ledger:
    """Bodies of messages, each of which is sent once.

    Attributes:
        sent: whatever became of them.
        confirmed: said to be stored.
        refused: said not to be stored.
        got: how often each was handed out.
        accepted: said to be accepted, and confirmed; how often.
        in_doubt: said to be accepted, of which no answer came yet; how often.
        wrong: sentences on what cannot be.
    """

    sent: set[bytes] = field(default_factory=set)
    confirmed: set[bytes] = field(default_factory=set)
    refused: set[bytes] = field(default_factory=set)
    got: Counter[bytes] = field(default_factory=Counter)
    accepted: Counter[bytes] = field(default_factory=Counter)
    in_doubt: Counter[bytes] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def send(self) -> bytes:
        """Another message."""
        body = b"message %09d." % next(self.numbers)
        self.sent.add(body)
        return body

    def outcome(self, body: bytes, state: DeliveryState | None) -> None:
        """What the producer was told; the rest is not known."""
        if isinstance(state, Accepted):
            self.confirmed.add(body)
        elif isinstance(state, Released | Rejected):
            self.refused.add(body)

    def hand_out(self, body: bytes) -> None:
        """A consumer got it, and says that it accepts it."""
        if self.accepted[body]:
            self.wrong.append(f"{body!r} comes again, and its accept was confirmed")
        self.got[body] += 1
        self.in_doubt[body] += 1

    def confirm(self, body: bytes) -> None:
        """The accept of a message was answered."""
        self.in_doubt[body] -= 1
        if not self.in_doubt[body]:
            del self.in_doubt[body]
        self.accepted[body] += 1

    @property
    def duplicates(self) -> int:
        """Times that a message was accepted again after an accept in doubt."""
        again = (self.accepted[b] + self.in_doubt[b] - 1 for b in self.in_doubt)
        return sum(one for one in again if one > 0)

    def audit(self, left: Iterable[bytes], stored: Iterable[bytes]) -> list[str]:
        """What cannot be true.

        Args:
            left: bodies of what is on the queue in the end.
            stored: bodies of all that ever was.
        """
        there, ever = set(left), Counter(stored)
        ended = self.accepted.keys() | self.in_doubt.keys()
        known = ever.keys() | self.got.keys()
        twice = {body for body, times in ever.items() if times > 1}
        again = {body for body, times in self.accepted.items() if times > 1}
        return [
            *self.wrong,
            *sentences(self.confirmed - ended - there, "is lost"),
            *sentences(known - self.sent, "is a phantom"),
            *sentences(known & self.refused, "was refused, and is there"),
            *sentences(there & self.accepted.keys(), "was accepted, and is there"),
            *sentences(twice, "was sent once and stored twice"),
            *sentences(again, "was accepted twice, and both were confirmed"),
        ]


def sentences(bodies: Iterable[bytes], what: str) -> list[str]:
    return [f"{body!r} {what}" for body in sorted(bodies)]
