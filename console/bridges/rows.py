"""The list of links: those that need attention first, then by bridge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from broker.acts.objects import visible_links
from broker.bridges import standing
from broker.bridges.states import Command
from broker.formats.quantities import write_count
from broker.models import Bridge, Link, LinkStatus
from broker.security.authorities import GrantedAuthorities
from console.bridges import words
from console.bridges.steps import Figure, figures_of
from console.bridges.words import EndWords
from dashboards.live import link_status

PAGE = 100


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One link."""

    link: Link
    status: LinkStatus
    rate: float | None  # messages a second, over the last minute

    @property
    def has_failed(self) -> bool:
        return standing.has_failed(self.status)

    @property
    def is_troubled(self) -> bool:
        return standing.is_troubled(self.status)

    @property
    def is_wrong(self) -> bool:
        """Whether the link's last error is still current."""
        return self.has_failed or self.is_troubled

    @property
    def chip(self) -> tuple[str, str]:
        return words.chip_of(self.status)

    @property
    def source(self) -> EndWords:
        return words.ends_of(self.link)[0]

    @property
    def target(self) -> EndWords:
        return words.ends_of(self.link)[1]

    @property
    def what_to_do(self) -> str:
        return words.what_to_do(self.status)

    @property
    def commands(self) -> list[Command]:
        return words.commands_of(self.status)

    @property
    def lag(self) -> str:
        """Why the number of waiting messages is unknown."""
        return words.lag_in_words(self.link, self.status)

    @property
    def dead(self) -> Figure:
        return Figure("dead", self.status.dead, "")

    @property
    def figures(self) -> list[Figure]:
        """All message counts of the link."""
        return [self.dead, *figures_of(self.link, self.status)]


@dataclass(frozen=True, slots=True)
class BridgeSection:
    """The links of one bridge, or those that have failed."""

    bridge: Bridge | None  # None: links of any bridge
    rows: Sequence[LinkRow]


@dataclass(frozen=True, slots=True)
class LinkList:
    """One page of the links that the user may see."""

    page: Page[LinkRow]
    counts: Counter[str]  # numbers of all links, by the label of their state

    @property
    def parts(self) -> Iterator[BridgeSection]:
        rows = list(self.page)
        if failed := [row for row in rows if row.has_failed]:
            yield BridgeSection(None, failed)
        others = [row for row in rows if not row.has_failed]
        for bridge in dict.fromkeys(row.link.bridge for row in others):
            yield BridgeSection(
                bridge, [row for row in others if row.link.bridge == bridge]
            )

    @property
    def in_words(self) -> str:
        return ", ".join(
            f"{write_count(count)} {word}" for word, count in self.counts.items()
        )


def rows_of(every: Sequence[Link]) -> list[LinkRow]:
    """Links with their status."""
    statuses = [standing.status_of(one) for one in every]
    rates = link_status.rates({one.link.pk: one.sent for one in statuses})
    return [LinkRow(one.link, one, rates[one.link.pk]) for one in statuses]


def listed(held: GrantedAuthorities, number: str | None) -> LinkList:
    """The page of this number. One query, however many links there are."""
    rows = sorted(rows_of(visible_links(held)), key=lambda row: not row.has_failed)
    return LinkList(
        Paginator(rows, PAGE).get_page(number), Counter(row.chip[1] for row in rows)
    )
