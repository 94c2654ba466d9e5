"""Patterns of LIKE: ``_`` is any one character, ``%`` any number of characters.

All possible partial matches are followed at once, as bits of one number: one step for
each character of the string. There is no backtracking, so no pattern takes exponential
time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Pattern:
    """A parsed pattern."""

    characters: tuple[str | None, ...]  # None stands for ``_``
    gaps: frozenset[int]  # for each ``%``, the number of characters before it

    @classmethod
    def of(cls, text: str, escape: str | None = None) -> Pattern:
        """Parse a pattern; the character after ``escape`` is literal.

        Raises:
            ValueError: the character after ``escape`` needs no escape.
        """
        characters: list[str | None] = []
        gaps: set[int] = set()
        rest = iter(text)
        for character in rest:
            if character == escape:
                characters.append(escaped(rest, escape))
            elif character == "%":
                gaps.add(len(characters))
            else:
                characters.append(None if character == "_" else character)
        return cls(tuple(characters), frozenset(gaps))

    def matches(self, string: str) -> bool:
        """Whether the whole string matches this pattern."""
        places, gaps = self.places, self.waiting
        reached = 1  # bit n is set if the first n characters of the pattern are matched
        for character in string:
            here = places[character] if character in places else places[None]
            reached = (reached & here) << 1 | (reached & gaps)
        return bool(reached >> len(self.characters) & 1)

    @cached_property
    def places(self) -> dict[str | None, int]:
        """The positions of each character of the pattern, as bits; None stands for all
        other characters."""
        anywhere = sum(1 << n for n, one in enumerate(self.characters) if one is None)
        places: dict[str | None, int] = defaultdict(lambda: anywhere, {None: anywhere})
        for n, character in enumerate(self.characters):
            if character is not None:
                places[character] |= 1 << n
        return dict(places)

    @cached_property
    def waiting(self) -> int:
        """The positions of ``%``, as bits."""
        return sum(1 << n for n in self.gaps)


def escaped(rest: Iterator[str], escape: str) -> str:
    character = next(rest, "")
    if character not in ("_", "%", escape):
        raise ValueError(f"{escape} stands before _, % or itself in this pattern")
    return character
