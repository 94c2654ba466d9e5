"""A notification as plain text: its headline and its lines. Names and errors in it are
untrusted; each channel escapes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 150  # most characters of a headline


def headline(said: Mapping[str, Any]) -> str:
    """One line: how bad, what has happened, where."""
    news = said["type"].removeprefix("alert.")
    mark = f"{said['severity']} {news}" if news == "firing" else news
    alerts, total = said["alerts"], said["total"]
    what = alerts[0]["text"] if total == 1 else f"{total:,} alerts of {said['rule']}"
    line = plain(f"[{said['broker']}] {mark}: {what}")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def lines(said: Mapping[str, Any]) -> Iterator[str]:
    """A line for each alert, each with its page if that is known."""
    for one in said["alerts"]:
        by = one["acknowledged_by"]
        yield f"{plain(one['text'])}{f' Acknowledged by {plain(by)}.' if by else ''}"
        if one["url"]:
            yield one["url"]
    if left := said["total"] - len(said["alerts"]):
        yield f"And {left:,} more."


def plain(text: str) -> str:
    """A text in one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text).strip()
