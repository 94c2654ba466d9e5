"""The navigation: URLs of views, and what people may choose for the frame of pages."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

THEMES = ("light", "dark", "system")


DENSITIES = ("normal", "compact")


TIMES = ("both", "absolute", "relative")


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
