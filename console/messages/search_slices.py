"""A search that goes on in slices: what it has found and read before a slice.

The Messages page has what the first slice found. Its script asks for the same URL with
the parameter ``slice`` and appends the rows, until the page is full or all is searched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace

from django.http import HttpRequest

from broker.monitoring import search as finding
from broker.monitoring.search import Count, SearchPage
from console.layout.pagination import Trail

PARAMETER = "slice"
BETWEEN = "~"
WRITTEN = re.compile(r"[0-9.]{3,40}(?:~[0-9]{1,18}){6}", re.ASCII)
EFFORT = finding.Effort(looks=1000, seconds=0.25)  # the limits of one slice


@dataclass(frozen=True, slots=True)
class SoFar:
    """What the slices before found and read; the text is the URL's parameter."""

    after: str = ""  # cursor of the next slice
    rows: int = 0
    at_hand: int = 0  # rows that an operation can take
    looked_at: int = 0
    top: int = 0  # the highest message number read
    milliseconds: int = 0
    skips: int = 0  # 1: the next slice may begin as the last one ended

    @classmethod
    def of(cls, text: str) -> SoFar:
        """Parse the parameter.

        Raises:
            ValueError: the text is no such parameter.
        """
        if not WRITTEN.fullmatch(text):
            raise ValueError(f"{text} is no place in a search")
        after, *numbers = text.split(BETWEEN)
        return cls(after, *map(int, numbers))

    def __str__(self) -> str:
        values = (getattr(self, one.name) for one in fields(self))
        return BETWEEN.join(map(str, values))

    def then(self, page: SearchPage, milliseconds: int) -> SoFar:
        """The same after one more slice."""
        return SoFar(
            page.after,
            self.rows + len(page.rows),
            self.at_hand + page.count.at_hand,
            self.looked_at + page.looked_at,
            self.top or (page.reach.top if page.reach else 0),
            self.milliseconds + milliseconds,
            int(page.skips),
        )

    @property
    def effort(self) -> finding.Effort:
        """The limits of the next slice."""
        return replace(EFFORT, skips=self.skips == 1)

    @property
    def count(self) -> Count:
        """The matches so far; exact if nothing is left to search."""
        return Count(self.rows, not self.after, self.looked_at, self.at_hand)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search has come, and the query string of its next slice."""

    looked_at: int
    of_about: int
    percent: int  # of the range of message numbers
    found: int
    next: str


def progress_of(page: SearchPage, so_far: SoFar, trail: Trail) -> Progress | None:
    """The progress of a search that is limited; None if it has ended.

    The number of messages is estimated from the part of the range that was searched.

    Args:
        page: the last slice.
        so_far: what was found and read, with this slice.
        trail: the page to which the slices belong.
    """
    if page.reach is None:
        return None
    top = so_far.top or page.reach.top
    share = finding.Reach(top, page.reach.at, page.reach.bottom).share
    about = max(round(so_far.looked_at / share) if share else 0, so_far.looked_at)
    rounded = round(about, 2 - len(str(about))) if about > so_far.looked_at else about
    return Progress(
        so_far.looked_at,
        max(rounded, so_far.looked_at),
        int(100 * share),
        so_far.rows,
        trail.slice(str(so_far)),
    )


def continued_by(request: HttpRequest) -> SoFar | None:
    """What the slice of a request continues; None: it asks for the page.

    Raises:
        ValueError: the parameter cannot be parsed.
    """
    text = request.GET.get(PARAMETER)
    return None if text is None else SoFar.of(text)
