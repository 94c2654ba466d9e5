"""Formats of times, sizes, numbers and states. Times are in the user's time zone, which
the clock of each page names.

Absolute times come first, relative ones second, so that they can be found in logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from html import escape

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop

from broker.formats.mq.coding import coding_of
from broker.formats.quantities import write_count, write_duration, write_size
from broker.formats.text import beginning_of
from broker.models import Place
from broker.queueing.browse import Browsed
from console.edges.times import UNKNOWN, ago, in_zone
from dashboards.live.depths import QueueDepth

register = template.Library()
register.filter(ago)

WORDS = {  # labels of states
    "ready": gettext_noop("ready"),
    "delayed": gettext_noop("delayed"),
    "in-flight": gettext_noop("in flight"),
    "redelivery": gettext_noop("waits for redelivery"),
    "dead": gettext_noop("dead letter"),
    "held": gettext_noop("paused"),
    "stopped": gettext_noop("delivery stopped"),
    "done": gettext_noop("done"),
    "gone": gettext_noop("expired"),
    "untaken": gettext_noop("not consumed"),
}
MINUTES = 16  # the characters of a moment up to its minutes


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon of the sprite; a text beside it gives its meaning."""
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="#i-{}"></use></svg>', name
    )


@register.simple_tag
def chip(state: str, word: str = "") -> SafeString:
    """A state as icon and word, never by colour alone."""
    return format_html(
        '<span class="chip chip-{}">{}{}</span>',
        state,
        icon(state),
        word or gettext(WORDS[state]),
    )


@register.simple_tag
def links_to_queues(names: Iterable[str], query: str = "") -> SafeString:
    """The pages of queues, in one list; an empty name is of a deleted queue."""
    return format_html_join(
        ", ",
        "{}",
        ((link_to_queue(one, query),) for one in names),
    )


def link_to_queue(name: str, query: str) -> SafeString | str:
    if not name:
        return gettext("a queue that is gone")
    url = f"{reverse('console:queue', args=[name])}{query}"
    return format_html('<a href="{}">{}</a>', url, name)


@register.filter
def as_in(message_id: int, numbers: Mapping[int, int]) -> int:
    """The number of the message of which this is the id, or the id of a copy.

    Args:
        message_id: the id.
        numbers: by id, from ``broker.monitoring.numbers``.
    """
    return numbers[message_id]


@register.filter
def number(value: float | None) -> str:
    """A number with separators; rates have one decimal; unknown numbers are a dash."""
    return UNKNOWN if value is None else write_count(value)


@register.simple_tag
def figure(
    value: float | None, what: str = "", queue_id: int | None = None, announce: str = ""
) -> SafeString:
    """A number that live updates replace.

    A live update replaces every number with the same ``what`` of the same queue, or of
    all queues together. ``announce`` names the counted thing: its changes are also
    announced to screen readers from time to time.
    """
    slot = what if queue_id is None else f"q{queue_id}-{what}"
    # ``format_html`` would take five times as long, and pages have hundreds of figures.
    kinds = f"number{'' if value else ' zero'}{' number-dead' * (what == 'dead')}"
    slots = f' data-slot="{escape(slot)}"' if what else ""
    announced = f' data-announce="{escape(announce)}"' if announce else ""
    raw = "" if value is None else value
    return mark_safe(  # noqa: S308 - numbers, and what is escaped above
        f'<data class="{kinds}"{slots}{announced} value="{raw}">{number(value)}</data>'
    )


@register.filter
def size(count: int | None) -> str:
    """Bytes; an unknown number is a dash."""
    return UNKNOWN if count is None else write_size(count)


@register.filter
def duration(span: timedelta | float | None) -> str:
    """A time that something takes; an unknown one is a dash."""
    return UNKNOWN if span is None else write_duration(span)


@register.simple_tag
def moment(
    at: datetime | None, now: datetime | None = None, *, is_planned: bool = False
) -> SafeString:
    """A moment to the millisecond, with its date unless that is today.

    Args:
        is_planned: a person has set the moment, or it is of a whole minute; it is shown
            in minutes.
    """
    if not at:  # templates turn a missing value into an empty text
        return format_html('<span class="muted">{}</span>', UNKNOWN)
    now = now or timezone.now()
    words = in_zone(at)[: MINUTES if is_planned else None]
    is_today = timezone.localdate(at) == timezone.localdate(now)
    return format_html(
        '<time class="{}" datetime="{}" title="{}"><span class="exact">'
        '{}</span> <span class="muted ago">{}</span></time>',
        "today" if is_today else "dated",
        at.astimezone(UTC).isoformat(timespec="milliseconds"),
        in_every_zone(at),
        words[11:] if is_today else words,
        ago(at, now),
    )


def in_every_zone(at: datetime) -> str:
    """The same moment in UTC and in the user's zone."""
    in_utc, local = f"{in_zone(at, UTC)} UTC", timezone.localtime(at)
    if local.tzname() == "UTC":
        return in_utc
    return f"{in_utc}, {in_zone(at)} {local.tzname()}"


@register.simple_tag
def entry_chip(entry: Browsed, queue: QueueDepth) -> SafeString:
    """The state of an entry, as a chip."""
    if entry.expires_at and entry.expires_at <= timezone.now():
        return chip("gone")
    if entry.place == Place.CLAIMED:
        return chip("in-flight")
    if entry.place == Place.DELAYED:
        return chip("redelivery" if entry.backout_count else "delayed")
    return chip("dead" if queue.takes_dead_letters else "ready")


@register.filter
def beginning(entry: Browsed) -> str:
    """The first bytes of a body on one line, as text or hexadecimal.

    Control characters are shown as pictures, and bidirectional controls are removed, so
    that a body cannot imitate the page.
    """
    head = bytes(entry.head)
    coding = coding_of(entry.descriptor, entry.content_type, entry.headers, head)
    try:
        text = beginning_of(head, entry.content_type, coding)
    except ValueError:
        text = "\0"
    if "\0" in text:
        return head[:24].hex(" ")
    return "".join(map(visible, " ".join(text.split())))


def visible(character: str) -> str:
    if character < " " or character == "\x7f":
        return chr(0x2400 + min(ord(character), 0x21))
    return character if character.isprintable() else "\ufffd"
