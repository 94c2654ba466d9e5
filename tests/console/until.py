"""Waits for what other processes do, and not longer than it is believable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal, TypeVar

Found = TypeVar("Found")


def until(
    found: Callable[[], Found | Literal[False] | None], seconds: float = 60
) -> Found:
    """Ask again and again until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        threading.Event().wait(0.02)
    return answer
