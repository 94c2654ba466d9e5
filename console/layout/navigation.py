"""The navigation: URLs of views, and what people may choose for the frame of pages."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_noop

THEMES = (gettext_noop("light"), gettext_noop("dark"), gettext_noop("system"))


DENSITIES = (gettext_noop("normal"), gettext_noop("compact"))


TIMES = (gettext_noop("both"), gettext_noop("absolute"), gettext_noop("relative"))


COUNTS_AS = "_counts_as"  # attribute of a request: the view it counts as


def counts_as(request: HttpRequest, view: str) -> None:
    """Show a view under another entry of the navigation."""
    setattr(request, COUNTS_AS, view)


def url_of(view: str, *key: object) -> str:
    """The URL of a view; empty if it is not installed."""
    try:
        return reverse(view, args=key)
    except NoReverseMatch:
        return ""
