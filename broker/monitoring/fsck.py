"""Consistency check: each entry is in exactly one place, or has exactly one outcome.

It reads everything in one snapshot and changes nothing, so it may run at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker import sql
from broker.models import Kind
from broker.queueing import journal

SHOWN = 10  # most violations shown of each rule


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of one of the rules of consistency."""

    rule: str  # a short name of the broken rule
    sentence: str


@dataclass(frozen=True, slots=True)
class Sums:
    """The number of entries with each outcome, by the journal, and the number
    present."""

    put: int
    accepted: int
    backed_out: int  # returned to their queue for redelivery
    dead_lettered: int
    resubmitted: int
    expired: int
    discarded: int
    moved: int  # moved by an operator to another queue
    removed: int  # removed by an operator into the discard bin
    taken_back: int  # copies that an undo removed
    restored: int  # restored from the discard bin, which cancels their outcome
    reinstated: int  # restored by an undo, which cancels their outcome
    present: int  # entries that are on a queue now

    @property
    def balance(self) -> int:
        """Number of entries put, less those with an outcome and those present. It must
        be 0."""
        begun = self.put + self.restored + self.reinstated
        ended = self.accepted + self.dead_lettered + self.expired + self.discarded
        by_operators = self.resubmitted + self.moved + self.removed + self.taken_back
        return begun - ended - by_operators - self.present


def violations() -> list[Violation]:
    """The violations of each rule, at most ``SHOWN`` of each; an empty list if all is
    consistent."""
    return [*misplaced(), *miscounted(), *orphaned(), *malformed(), *misbinned()]


def misplaced() -> list[Violation]:
    return [
        Violation(
            "one-place",
            f"Message {message_id} on queue {queue_id} was put {puts} times, is in"
            f" {places} places and has {ends} ends; it must be in one place, or have"
            " one end.",
        )
        for queue_id, message_id, puts, places, ends in (
            sql.run("fsck_places", {"limit": SHOWN})
        )
    ]


def miscounted() -> list[Violation]:
    counted = {row[0]: row[1:] for row in sql.run("fsck_depths", {})}
    journalled = {
        queue_id: (depth.ready, depth.claimed, depth.delayed)
        for queue_id, depth in journal.depths().items()
    }
    return [
        Violation(
            "depths-are-exact",
            f"Queue {queue_id} has {counted.get(queue_id, (0, 0, 0))} messages ready,"
            f" claimed and delayed; its journal says"
            f" {journalled.get(queue_id, (0, 0, 0))}.",
        )
        for queue_id in sorted(counted.keys() | journalled.keys())
        if counted.get(queue_id, (0, 0, 0)) != journalled.get(queue_id, (0, 0, 0))
    ]


def orphaned() -> list[Violation]:
    return [
        Violation("no-orphans", f"There is {what}: {number}.")
        for what, number in sql.run("fsck_orphans", {"limit": SHOWN})
    ]


def malformed() -> list[Violation]:
    return [
        Violation("well-formed", f"There is {what}: {number}.")
        for what, number in sql.run("fsck_malformed", {"limit": SHOWN})
    ]


def misbinned() -> list[Violation]:
    return [
        Violation(
            "bin-or-queue",
            f"Message {message_id} of queue {queue_id} is in the discard bin, and"
            f" {why}.",
        )
        for queue_id, message_id, why in sql.run("fsck_discarded", {"limit": SHOWN})
    ]


def sums() -> Sums:
    """All sums, over all queues; their ``balance`` must be 0."""
    depths = journal.depths().values()

    def done(kind: Kind) -> int:
        return sum(depth.done.get(kind, 0) for depth in depths)

    return Sums(
        put=done(Kind.PUT),
        accepted=done(Kind.ACCEPT),
        backed_out=done(Kind.BACK_OUT),
        dead_lettered=done(Kind.DEAD_LETTER),
        resubmitted=done(Kind.RESUBMIT),
        expired=done(Kind.EXPIRE),
        discarded=done(Kind.DISCARD),
        moved=done(Kind.MOVE),
        removed=done(Kind.REMOVE),
        taken_back=done(Kind.UNDO),
        restored=done(Kind.RESTORE),
        reinstated=sum(depth.reinstated for depth in depths),
        present=sum(depth.total for depth in depths),
    )
