"""How often an open page changes at most: a choice, kept in the browser.

The publisher counts every second for all pages together; a page with a slower rate is
sent what it shows once in its time, and only if something changed.
"""

from __future__ import annotations

from collections.abc import Mapping

COOKIE = "refresh"
SECONDS = {"1 s": 1.0, "5 s": 5.0, "30 s": 30.0}
FASTEST = "1 s"


def chosen(cookies: Mapping[str, str]) -> str:
    """The rate named by the cookie; the fastest if there is none or it is unknown."""
    name = cookies.get(COOKIE, "")
    return name if name in SECONDS else FASTEST


def is_slower(rate: str) -> bool:
    return rate != FASTEST
