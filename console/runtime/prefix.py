"""The prefix of the console's URLs, which its project chooses."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse


def is_ours(request: HttpRequest) -> bool:
    """Whether a request is for a page below the prefix of the console."""
    return request.path.startswith(root())


def root() -> str:
    """The URL below which all pages of the console are, such as ``/ops/``.

    Without ``console.urls`` in the project's URLs, no path begins with it.
    """
    try:
        return reverse("console:overview")
    except NoReverseMatch:
        return "\0"
