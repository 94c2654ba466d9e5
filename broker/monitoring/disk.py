"""Free space on the disk of ``BACKOUT_VAR``, which the embedded PostgreSQL shares.

A full disk stops puts, gets and PostgreSQL itself, so Health warns before. The disk of
a PostgreSQL on another machine is not seen here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk's size and what is free for this process, in bytes."""

    path: str
    total: int
    free: int

    @property
    def free_percent(self) -> float:
        return 100 * self.free / self.total if self.total else 0.0

    @property
    def is_low(self) -> bool:
        """Whether Health shows a warning."""
        limit: float = settings.BACKOUT_DISK_LOW_PERCENT
        return self.free_percent < limit

    @property
    def is_full(self) -> bool:
        """Whether ``/readyz`` says that this process is not ready."""
        limit: float = settings.BACKOUT_DISK_FULL_PERCENT
        return self.free_percent < limit

    def __str__(self) -> str:
        return (
            f"The disk of {self.path} {'is nearly full' if self.is_low else 'fills'}:"
            f" {self.free_percent:.1f} % ({self.free / 2**30:.1f} GiB) is free."
        )


def look() -> Disk | None:
    """The present state of the disk; None if it cannot be read."""
    try:
        found = os.statvfs(settings.VAR_DIR)
    except OSError:
        return None
    block = found.f_frsize
    return Disk(str(settings.VAR_DIR), found.f_blocks * block, found.f_bavail * block)
