"""JSON as RFC 8259 has it: Python also writes NaN and Infinity, which no other reader
takes, PostgreSQL among them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

ENCODERS = {
    ascii_only: json.JSONEncoder(allow_nan=False, ensure_ascii=ascii_only)
    for ascii_only in (True, False)
}


def dumps(value: Any, *, ascii_only: bool = True) -> str:
    """Write JSON.

    Args:
        value: what to write.
        ascii_only: escape all other characters.

    Raises:
        ValueError: it cannot be written; the text says what of it, and why.
    """
    try:
        text = ENCODERS[ascii_only].encode(value)
        if not ascii_only:
            text.encode()
    except UnicodeEncodeError:
        raise ValueError("it has half of a surrogate pair, which is no text") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (TypeError, ValueError) as error:
        where = next(infinite(value, ""), None)
        raise ValueError(where or str(error)) from None
    return text


def infinite(value: Any, where: str) -> Iterator[str]:
    """The path to a number in a value that is NaN or Infinity, and the number."""
    match value:
        case float() if not isfinite(value):
            yield f"{where.lstrip('.') or 'it'} is {value}, which JSON does not have"
        case dict():
            for name, one in value.items():
                yield from infinite(one, f"{where}.{name}")
        case list() | tuple():
            for place, one in enumerate(value):
                yield from infinite(one, f"{where}[{place}]")
