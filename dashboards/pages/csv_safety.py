"""What a spreadsheet makes of a cell, and how it is kept from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# How a cell begins that is a formula to it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class CsvSink:
    """What a writer of CSV writes to."""

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write


def harmless(value: Any) -> Any:
    """A cell; a text that would be taken for a formula begins with a quote."""
    is_formula = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if is_formula else value
