"""Texts that are marked for translation elsewhere, in the language of the page."""

from __future__ import annotations

from django import template

from broker.formats import sentences

register = template.Library()


@register.filter
def translated(text: object) -> str:
    """A marked text, or a sentence with its values; escaped as any other."""
    return sentences.translated(text) if isinstance(text, str) else str(text)
