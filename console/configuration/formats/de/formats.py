"""Formats of times and numbers: as in English, because numbers stand in the markup of
charts, too."""

from __future__ import annotations

from console.configuration.formats.en.formats import (
    DATE_FORMAT,
    DATETIME_FORMAT,
    TIME_FORMAT,
)

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","

__all__ = ["DATETIME_FORMAT", "DATE_FORMAT", "TIME_FORMAT"]
