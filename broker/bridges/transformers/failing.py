"""What an exception of a transformer says to people, who may not trust its text."""

from __future__ import annotations

LONGEST = 1000  # characters


def described(error: BaseException) -> str:
    """Its class and its text, on one line, without control characters."""
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001  # its text is code of its own
        text = "(its text cannot be read)"
    return readable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def readable(text: str) -> str:
    """A text on one line and not too long; what cannot be seen becomes a blank."""
    seen = text[: 4 * LONGEST]
    shown = "".join(one if one.isprintable() else " " for one in seen)
    return " ".join(shown.split())[:LONGEST]
