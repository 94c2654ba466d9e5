"""Patterns of LIKE: ``_`` is any one character, ``%`` any number of them.

All that could still become a match is followed at once, each a bit of one number: a
step for each character of the string, whatever the pattern. There is nothing to go back
to, which is what makes some patterns take for ever elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Pattern:
    """A pattern, taken apart."""

    characters: tuple[str | None, ...]  # None is any one
    gaps: frozenset[int]  # how many characters stand before each ``%``

    @classmethod
    def of(cls, text: str, escape: str | None = None) -> Pattern:
        """Read a pattern; after ``escape``, one character, the next means itself.

        Raises:
            ValueError: it escapes what needs none.
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
        """Whether the whole string is like this pattern."""
        places, gaps = self.places, self.waiting
        reached = 1  # bit n: the first n characters of the pattern are matched
        for character in string:
            here = places[character] if character in places else places[None]
            reached = (reached & here) << 1 | (reached & gaps)
        return bool(reached >> len(self.characters) & 1)

    @cached_property
    def places(self) -> dict[str | None, int]:
        """Where each character can stand, as bits; all others are under None."""
        anywhere = sum(1 << n for n, one in enumerate(self.characters) if one is None)
        places: dict[str | None, int] = defaultdict(lambda: anywhere, {None: anywhere})
        for n, character in enumerate(self.characters):
            if character is not None:
                places[character] |= 1 << n
        return dict(places)

    @cached_property
    def waiting(self) -> int:
        """Where any characters may pass, as bits."""
        return sum(1 << n for n in self.gaps)


def escaped(rest: Iterator[str], escape: str) -> str:
    character = next(rest, "")
    if character not in ("_", "%", escape):
        raise ValueError(f"{escape} stands before _, % or itself in this pattern")
    return character
