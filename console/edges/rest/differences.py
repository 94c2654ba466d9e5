"""What a change would make different, in answers."""

from __future__ import annotations

from typing import Any

from ninja import Schema


class Difference(Schema):
    """A field before and after; null if not defined."""

    field: str
    before: Any
    after: Any
