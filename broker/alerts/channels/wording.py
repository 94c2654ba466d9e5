"""A notification as plain text: its headline and its lines. Names and errors in it are
untrusted; each channel escapes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

LONGEST = 150  # most characters of a headline


def headline(said: Mapping[str, Any]) -> str:
    """One line: how bad, what has happened, where."""
    news = said["type"].removeprefix("alert.")
    mark = f"{said['severity']} {news}" if news == "firing" else news
    causes = said.get("causes", said["total"])  # an earlier version had none
    what = said["alerts"][0]["text"]
    if causes > 1:
        what = f"{causes:,} problems, the first: {what}"
    line = plain(f"[{said['broker']}] {mark}: {what}")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def lines(said: Mapping[str, Any]) -> Iterator[str]:
    """For each cause what is wrong, the rules that ring, and the page of its first
    alert if that is known."""
    for _, part in groupby(said["alerts"], key=lambda one: one.get("cause", one["id"])):
        first, *others = part
        by = first["acknowledged_by"]
        yield f"{plain(first['text'])}{f' Acknowledged by {plain(by)}.' if by else ''}"
        rules = dict.fromkeys(one["rule"] for one in (first, *others) if "rule" in one)
        if rules:
            yield f"Rule{'s'[len(rules) == 1 :]}: {plain(', '.join(rules))}"
        if first["url"]:
            yield first["url"]
    if left := said["total"] - len(said["alerts"]):
        yield f"And {left:,} more alert{'s'[left == 1 :]}."


def plain(text: str) -> str:
    """A text in one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text).strip()
