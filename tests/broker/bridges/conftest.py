"""What tests of bridges begin with: another Backout."""

from __future__ import annotations

from tests.broker.bridges.other_backout import other, the_other

__all__ = ["other", "the_other"]
