"""The differences between a repaired message and its copy.

The differences are not stored. Both messages are kept unchanged and compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from broker import operations
from broker.security import authorities
from console.bodies.text_diff import MessageDifference, difference
from console.messages.detail import Story
from console.messages.timeline import Life

MOST = 3  # repairs shown of one message; each compares two bodies


@dataclass(frozen=True, slots=True)
class Kin:
    """One repair: a message and its changed copy."""

    parent: int
    child: int
    operation: int | None
    # None: one of the messages is past its retention
    difference: MessageDifference | None


def kin_of(story: Story, held: authorities.GrantedAuthorities) -> list[Kin]:
    """The repairs with the message as original or copy, for users who may read both."""
    lives = {life.message_id: life for life in story.lives}
    found = [
        (life.message_id, step.copy, step.operation)
        for life in story.lives
        for step in life.steps
        if step.is_repaired
        and step.copy in lives
        and story.message_id in (life.message_id, step.copy)
    ][-MOST:]
    readable = [
        one for one in found if all(may_read(held, lives[id_]) for id_ in one[:2])
    ]
    return list(read_kin(readable))


def read_kin(found: list[tuple[int, int, int | None]]) -> Iterator[Kin]:
    if not found:
        return
    ids = {id_ for parent, child, _ in found for id_ in (parent, child)}
    subjects = operations.subjects_of(sorted(ids))
    for parent, child, operation in found:
        one, other = subjects.get(parent), subjects.get(child)
        differs = difference(one, other) if one and other else None
        yield Kin(parent, child, operation, differs)


def may_read(held: authorities.GrantedAuthorities, life: Life) -> bool:
    queues = {step.road.queue for step in life.steps} - {""}
    return held.everywhere("browse") or any(held.on("browse", one) for one in queues)
