"""Warnings on circles of moves, which bring messages back to a queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from django.utils.translation import gettext_noop

from broker.config.advice import Advice
from broker.config.configuration import Configuration
from broker.config.moves import Move, moves
from broker.config.transfers import Way
from broker.formats.sentences import say

Circle = tuple[Move, ...]  # each move begins where the previous move ends
# Moves by name of the source, then of the target.
Onward = Mapping[str, Mapping[str, Move]]


def of_circles(found: Configuration) -> Iterator[Advice]:
    """Warn of each circle, but of a queue that is its own backout queue, which has a
    warning of its own."""
    for circle in circles(moves(found)):
        names = [one.source for one in circle]
        about = next((one for one in names if one in found.queues), names[0])
        if len(circle) == 1 and circle[0].way is Way.POISON:
            continue
        steps = ", ".join(
            f"from {one.source} to {one.target} ({one.words})" for one in circle
        )
        remedies = "; or ".join(dict.fromkeys(one.remedy for one in circle))
        yield Advice(
            about,
            "circle-of-moves",
            say(
                gettext_noop("Messages can go round without end: %(steps)s."),
                steps=steps,
            ),
            say(gettext_noop("End the circle: %(remedies)s."), remedies=remedies),
        )


def circles(every: Iterable[Move]) -> list[Circle]:
    """Circles that each move which lies on any circle lies on: for each move, a
    shortest one through it. So the list is empty only if there is no circle."""
    onward: dict[str, dict[str, Move]] = {}
    for move in sorted(every, key=order):
        onward.setdefault(move.source, {}).setdefault(move.target, move)
    found: set[Circle] = set()
    for ways in onward.values():
        for move in ways.values():
            back = shortest(onward, move.target, move.source)
            if back is not None:
                found.add(turned((move, *back)))
    return sorted(found, key=lambda circle: [order(one) for one in circle])


def order(move: Move) -> tuple[str, str, str, str]:
    return move.source, move.target, move.way.name, move.by


def shortest(onward: Onward, start: str, end: str) -> Circle | None:
    """The shortest chain of moves from one place to another; None if there is none."""
    reached: dict[str, Move | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in reached:
        for target, move in onward.get(waiting.popleft(), {}).items():
            if target not in reached:
                reached[target] = move
                waiting.append(target)
    if end not in reached:
        return None
    way: list[Move] = []
    at = reached[end]
    while at is not None:
        way.insert(0, at)
        at = reached[at.source]
    return tuple(way)


def turned(circle: Circle) -> Circle:
    """The same circle, beginning at the place whose name is first in the alphabet."""
    first = min(range(len(circle)), key=lambda n: circle[n].source)
    return circle[first:] + circle[:first]
