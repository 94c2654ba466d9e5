"""Cursor pagination with a way back: the URL holds the cursors of earlier pages.

A query continues from any cursor at the same cost. The way back is a trail of cursors
in the URL, so a URL shows the same page to every user.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest

BETWEEN = "~"  # separates cursors, and is never part of one
LONGEST = 40  # the most pages that a user can go back, one by one
# Parameters that are not of every page; ``m`` is a message shown beside the list, and
# ``slice`` a part of a page.
OWN = ("after", "trail", "m", "slice")
LARGEST = 2**63 - 1  # the largest number that the database can store


@dataclass(frozen=True, slots=True)
class Trail:
    """A page: its cursor (none for the first page) and the cursors before it."""

    after: str
    before: tuple[str, ...]
    rest: tuple[tuple[str, str], ...]  # other parameters of the URL

    @classmethod
    def of(cls, request: HttpRequest) -> Trail:
        """The page of a request."""
        trail = request.GET.get("trail", "")
        return cls(
            after=within_range(request.GET.get("after", "")),
            before=tuple(trail.split(BETWEEN))[-LONGEST:] if trail else (),
            rest=tuple(
                (key, str(value))
                for key, values in request.GET.lists()
                for value in values
                if key not in OWN
            ),
        )

    def then(self, cursor: str) -> str:
        """The query string of the next page, which begins after that cursor."""
        trail = (*self.before, self.after) if self.after else ()
        return self.query(cursor, trail)

    def slice(self, so_far: str) -> str:
        """The query string of a part of this page, which begins where others ended."""
        return f"{self.query(self.after, self.before)}&{urlencode({'slice': so_far})}"

    @property
    def is_first(self) -> bool:
        return not self.after

    @property
    def first(self) -> str:
        """The query string of the first page."""
        return self.query("", ())

    @property
    def previous(self) -> str:
        """The query string of the previous page, or of the first if unknown."""
        *earlier, last = self.before or ("",)
        return self.query(last, tuple(earlier))

    def query(self, after: str, before: tuple[str, ...]) -> str:
        pairs = [*self.rest]
        if after:
            pairs.append(("after", after))
        if before:
            pairs.append(("trail", BETWEEN.join(before[-LONGEST:])))
        return f"?{urlencode(pairs)}"


def within_range(cursor: str) -> str:
    """The cursor, if its numbers fit the database's types; otherwise none."""
    fits = all(int(number) <= LARGEST for number in re.findall(r"[0-9]{1,99}", cursor))
    return cursor if fits else ""
