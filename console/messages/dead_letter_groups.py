"""Groups of dead letters for pages: with their notes and their growth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from broker.formats.quantities import write_count
from broker.models import DeadLetter, DeadLetterGroup, Link
from broker.monitoring import dead_letter_groups
from broker.monitoring.dead_letter_groups import Attention, Standing, Trend
from broker.monitoring.dead_letters import DeadLetterCount
from console.messages import dead_letter_links
from console.messages.dead_letter_query import fields_of

WIDTH, HEIGHT = 96, 24  # the size of the drawing, in its own units
GAP = 1
BAR = '<rect x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
LINK = DeadLetter.Cause.LINK


@dataclass(frozen=True, slots=True)
class Hours:
    """Dead letters of a group in each hour of the last day, as bars and as text."""

    trend: Trend
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def bars(self) -> SafeString:
        """The elements of the drawing. In a template they would take most of the time
        of a page of groups."""
        tallest = max(self.trend.hours) or 1
        pitch = WIDTH / len(self.trend.hours)
        last = gettext("%(n)s in the last hour")
        earlier = gettext("%(n)s %(from)s to %(to)s hours ago")
        bars = []
        for place, count in enumerate(self.trend.hours):
            # 0 is shown as a line at the bottom
            tall = max(count / tallest * HEIGHT, 1)
            ago = len(self.trend.hours) - 1 - place
            bars.append(
                (
                    f"{place * pitch:.1f}",
                    f"{HEIGHT - tall:.1f}",
                    f"{pitch - GAP:.1f}",
                    f"{tall:.1f}",
                    (earlier if ago else last)
                    % {"n": count, "from": ago, "to": ago + 1},
                )
            )
        return format_html_join("", BAR, bars)

    @property
    def short(self) -> str:
        """A short text for narrow columns."""
        last = self.trend.last_hour
        if not last:
            return gettext("none in the last hour")
        return gettext("%(n)s in the last hour") % {"n": write_count(last)}

    @property
    def words(self) -> str:
        if not self.trend.total:
            return gettext("none in 24 hours")
        return gettext(
            "%(last)s in the last hour, %(all)s in 24 hours, at most %(most)s an hour"
        ) % {
            "last": write_count(self.trend.last_hour),
            "all": write_count(self.trend.total),
            "most": write_count(max(self.trend.hours)),
        }


@dataclass(frozen=True, slots=True)
class DeadLetterGroupRow:
    """One group in a list."""

    group: DeadLetterCount
    on: str  # the name of the queue that the dead letters are on
    fields: dict[str, object]
    standing: Standing
    said: DeadLetterGroup | None
    hours: Hours
    # the link that the letters come from; a resubmit goes through it
    link: Link | None = None

    @property
    def cause(self) -> str:
        return cause_in_words(self.group.cause)

    @property
    def query(self) -> str:
        """The query string of the group's URL, without its fingerprint."""
        fields = dict(self.fields)
        fields.pop("fingerprint", None)
        return urlencode(fields)


@dataclass(frozen=True, slots=True)
class Sum:
    """Groups with the same origin queue or cause, as one row of a list."""

    name: str
    words: str
    query: str  # query string of the list of those groups
    fields: dict[str, object]
    sums: Sums
    groups: int  # the number of groups with different fingerprints
    wanted: int  # how many of these groups need attention


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals of several groups."""

    messages: int
    first: datetime | None
    last: datetime | None
    most_resubmits: int
    origins: frozenset[str]  # the queues that the messages were dead-lettered from


def rows_of(
    chosen: Sequence[DeadLetterCount],
    every: Sequence[DeadLetterCount],
    names: Mapping[int, str],
    trends: Mapping[str, Trend],
    at: datetime,
) -> list[DeadLetterGroupRow]:
    """Groups as rows. One query; two more if links transferred some of them.

    Args:
        chosen: the groups to list.
        every: all groups that the user sees, for their states.
        names: queues that the user sees: names by id.
        trends: dead letters in each hour, by fingerprint.
        at: the present time.
    """
    keys = {group.fingerprint for group in chosen}
    said = dead_letter_groups.group_rows(keys)
    links = dead_letter_links.links_of(chosen)
    stands = {
        key: dead_letter_groups.standing(said.get(key), parts, at)
        for key, parts in dead_letter_groups.by_fingerprint(every).items()
        if key in keys
    }
    return [
        DeadLetterGroupRow(
            group,
            names.get(group.queue_id, ""),
            fields_of(group.selection),
            stands[group.fingerprint],
            said.get(group.fingerprint),
            Hours(trends.get(group.fingerprint, Trend())),
            links.get(group.origin_queue) if group.cause == LINK else None,
        )
        for group in chosen
    ]


def rows_in_state(
    rows: Iterable[DeadLetterGroupRow], standing: str, user_id: int | None
) -> list[DeadLetterGroupRow]:
    """Rows of groups in that state, or owned by that user."""
    if standing == "mine":
        return [row for row in rows if row.said and row.said.owner_id == user_id]
    if standing == "wanted":
        return [row for row in rows if row.standing.attention.is_needed]
    return [row for row in rows if not standing or row.standing.attention == standing]


def sums_by(rows: Sequence[DeadLetterGroupRow], key: str) -> list[Sum]:
    """Groups added up by origin queue or by cause; the most dead letters first."""
    parts: dict[str, list[DeadLetterGroupRow]] = {}
    for row in rows:
        name = row.group.origin_queue if key == "queue" else row.group.cause
        parts.setdefault(name, []).append(row)
    found = [sum_of(key, name, of) for name, of in parts.items()]
    return sorted(found, key=lambda one: (-one.sums.messages, one.name))


def sum_of(key: str, name: str, rows: Sequence[DeadLetterGroupRow]) -> Sum:
    fields: dict[str, object] = {key: name}
    wanted = {r.group.fingerprint for r in rows if r.standing.attention.is_needed}
    return Sum(
        name,
        name if key == "queue" else cause_in_words(name),
        urlencode(fields),
        fields,
        sums_of([row.group for row in rows]),
        len({row.group.fingerprint for row in rows}),
        len(wanted),
    )


def sums_of(chosen: Sequence[DeadLetterCount]) -> Sums:
    return Sums(
        sum(group.messages for group in chosen),
        min((group.first_died_at for group in chosen), default=None),
        max((group.last_died_at for group in chosen), default=None),
        max((group.most_resubmits for group in chosen), default=0),
        frozenset(group.origin_queue for group in chosen),
    )


def cause_in_words(cause: str) -> str:
    words = dict(DeadLetter.Cause.choices).get(cause)
    return gettext(str(words)) if words else cause


STANDINGS = [
    ("", gettext_noop("all")),
    ("wanted", gettext_noop("that need attention")),
    (Attention.ACKNOWLEDGED.value, gettext_noop("that are acknowledged")),
    (Attention.SNOOZED.value, gettext_noop("that are snoozed")),
    ("mine", gettext_noop("that are mine")),
]
