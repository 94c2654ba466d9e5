"""Texts that are marked for translation elsewhere, in the language of the page."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from broker.formats import sentences
from broker.formats.quantities import write_duration
from broker.models import RecurringMessage
from dashboards.live.languages import ENGLISH

register = template.Library()


@register.filter
def translated(text: object) -> str:
    """A marked text, or a sentence with its values; escaped as any other."""
    return sentences.translated(text) if isinstance(text, str) else str(text)


@register.filter
def recurs(one: RecurringMessage) -> SafeString | str:
    """When a message recurs. Only English has words for a crontab line."""
    if not one.crontab:
        time = write_duration(one.every_s or 0, exact=True)
        return gettext("every %(time)s") % {"time": time}
    if get_language() == ENGLISH:
        return one.words
    return format_html("<code>{}</code> {}", one.crontab, one.time_zone)
