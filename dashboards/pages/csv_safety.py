"""Protects CSV cells from being read as formulas by spreadsheets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Spreadsheets read a text as a formula if it begins with one of these.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class CsvSink:
    """The file object of a CSV writer."""

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write


def harmless(value: Any) -> Any:
    """A cell; a text that would be read as a formula gets a leading quote."""
    is_formula = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if is_formula else value
