"""Error texts of transformers, made safe to show."""

from __future__ import annotations

from broker.formats import exceptions

LONGEST = 1000  # most characters of a text


def described(error: BaseException) -> str:
    """Class and text of an exception, on one line, without control characters."""
    name, text = exceptions.name_of(error), exceptions.plain_text_of(error)
    return readable(f"{name}: {text}" if text else name)


def readable(text: str) -> str:
    """The text on one line and not too long; unprintable characters become blanks."""
    seen = text[: 4 * LONGEST]
    shown = "".join(one if one.isprintable() else " " for one in seen)
    return " ".join(shown.split())[:LONGEST]
