"""Turning pages by cursor, also back: a page's URL knows the pages before it.

The engine goes forward from any cursor at the same cost. The way back is the trail of
cursors by which one came, so that a URL shows the same page to whoever gets it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest

BETWEEN = "~"  # no cursor has it
LONGEST = 40  # pages that one can go back one by one
LARGEST = 2**63 - 1  # of the database's numbers


@dataclass(frozen=True, slots=True)
class Trail:
    """One page: its cursor (the first page has none), and those before it."""

    after: str
    before: tuple[str, ...]
    rest: tuple[tuple[str, str], ...]  # what else the URL says

    @classmethod
    def of(cls, request: HttpRequest) -> Trail:
        """The page that a request asks for."""
        trail = request.GET.get("trail", "")
        return cls(
            after=within_range(request.GET.get("after", "")),
            before=tuple(trail.split(BETWEEN))[-LONGEST:] if trail else (),
            rest=tuple(
                (key, str(value))
                for key, values in request.GET.lists()
                for value in values
                if key not in ("after", "trail", "m")  # m: a message beside the list
            ),
        )

    def then(self, cursor: str) -> str:
        """The query of the next page, which begins after that cursor."""
        trail = (*self.before, self.after) if self.after else ()
        return self.query(cursor, trail)

    @property
    def is_first(self) -> bool:
        return not self.after

    @property
    def first(self) -> str:
        """The query of the first page."""
        return self.query("", ())

    @property
    def previous(self) -> str:
        """The query of the page before; the first, where that is not known."""
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
    """The cursor, if the database can hold its numbers; none otherwise."""
    fits = all(int(number) <= LARGEST for number in re.findall(r"[0-9]{1,99}", cursor))
    return cursor if fits else ""
