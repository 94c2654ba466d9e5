"""Error texts of transformers, made safe to show."""

from __future__ import annotations

LONGEST = 1000  # most characters of a text


def described(error: BaseException) -> str:
    """Class and text of an exception, on one line, without control characters."""
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001  # ``str`` runs foreign code
        text = "(its text cannot be read)"
    return readable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def readable(text: str) -> str:
    """The text on one line and not too long; unprintable characters become blanks."""
    seen = text[: 4 * LONGEST]
    shown = "".join(one if one.isprintable() else " " for one in seen)
    return " ".join(shown.split())[:LONGEST]
