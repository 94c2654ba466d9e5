"""A warning on settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """One warning."""

    queue: str  # name of a queue or model queue, or pattern of an address setting
    code: str  # a stable code that programs may compare
    sentence: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"
