"""Search results on the Messages page."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from broker.formats.filters import Filter, equal
from broker.formats.filters.parsing import NOWHERE
from broker.formats.quantities import write_count
from broker.monitoring.search import Count, Found
from console.layout import search_links
from console.messages import search_results
from console.templatetags.console import chip
from console.templatetags.console_hostile import name as name_of
from console.templatetags.console_hostile import printable

register = template.Library()
register.filter("in_words", search_results.in_words)
register.simple_tag(search_results.keys_in_words, name="filter_keys")

LONGEST = 120  # characters of a value
OF_QUEUES = ("queue", "origin")  # keys whose values are names of queues
CHIPS = {"discarded": ("gone", gettext_noop("discarded"))}


@register.simple_tag
def messages_url(*pairs: str) -> str:
    """The list of messages with these values; keys and values alternate."""
    values = iter(pairs)
    return search_links.url_of(
        search_links.filter_of(*zip(values, values, strict=True))
    )


@register.simple_tag
def find_all(key: str, value: str, what: str, *, name: str = "") -> SafeString | str:
    """A link to all messages with a value; nothing where no filter can ask for it.

    Args:
        key: the key of the value, in the language of filters.
        value: as the message has it.
        what: what the value is, in words.
        name: of the property.
    """
    if not value or NOWHERE.search(value):
        return ""
    wanted = Filter((equal(key, value, name=name),))
    if not search_results.fits(wanted):
        return ""
    return format_html(
        ' <a class="beside" href="{}">{}<span class="visually-hidden"> {}</span></a>',
        search_links.url_of(wanted),
        gettext("Find all"),
        gettext("with this %(what)s") % {"what": what},
    )


@register.simple_tag
def adding(
    row: search_results.SearchResultRow, key: str, text: str = ""
) -> SafeString | str:
    """A value of a row, as a link that adds it to the filter.

    Args:
        row: the row.
        key: the key of the value, in the language of filters.
        text: the link's text; may be markup only if it is safe.
    """
    value = row.value(key)
    words = text if isinstance(text, SafeString) else printable(text or value, LONGEST)
    if key in OF_QUEUES and not text:
        words = name_of(value)
    if value in (None, ""):
        return words if text else ""
    query = row.adds(key)
    if not query:
        return words
    return format_html(
        '<a class="adds" href="{}" title="{}">{}</a>',
        query,
        gettext("Only those with this %(key)s") % {"key": key},
        words,
    )


@register.simple_tag
def state_chip(one: Found) -> SafeString:
    """The state of a search result, as icon and label."""
    if one.state == "delayed" and one.tries:
        return chip("redelivery")
    if one.state not in CHIPS:
        return chip(one.state)
    state, word = CHIPS[one.state]
    return chip(state, gettext(word))


@register.filter
def at_hand_in_words(count: Count) -> str:
    """How many of the counted messages an operation can include."""
    number = write_count(count.at_hand)
    return number if count.is_exact else gettext("%(n)s or more") % {"n": number}


@register.filter
def in_others_hands(count: Count) -> int:
    return count.messages - count.at_hand
