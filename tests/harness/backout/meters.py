"""What handlers have done, counted in memory that the adapter's process can read.

Each process of the dispatcher has a file, mapped into memory: three totals, and a
histogram each of the times from put to start, and from put to end.
"""

from __future__ import annotations

import mmap
import os
import threading
from array import array
from pathlib import Path
from typing import NamedTuple

from tests.harness.histogram import SIZE, bucket

FOLDER = "BACKOUT_HARNESS_METERS"  # environment variable: the folder of the files
COMPLETED, FAILED, DEAD = range(3)
BEGAN = 3
ENDED = BEGAN + SIZE
CELLS = ENDED + SIZE
CELL = 8  # bytes


class Totals(NamedTuple):
    """What all processes have done until now."""

    completed: int
    failed: int
    dead: int
    began: list[int]  # histogram of the times from put to start
    ended: list[int]  # histogram of the times from put to end


class Meter:
    """The counts of this process."""

    def __init__(self, folder: Path) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        with (folder / str(self.pid)).open("w+b") as file:
            file.truncate(CELLS * CELL)
            self.cells = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")

    def began(self, us: int) -> None:
        self.add(BEGAN + bucket(us))

    def completed(self, us: int) -> None:
        self.add(COMPLETED)
        self.add(ENDED + bucket(us))

    def add(self, cell: int) -> None:
        with self.lock:
            self.cells[cell] += 1


def read(folder: Path) -> Totals:
    """The sums of all processes, also of those that are gone."""
    sums = [0] * CELLS
    for file in folder.iterdir():
        cells = array("Q")
        cells.frombytes(file.read_bytes())
        for place, count in enumerate(cells):
            if count:
                sums[place] += count
    completed, failed, dead = sums[:BEGAN]
    return Totals(completed, failed, dead, sums[BEGAN:ENDED], sums[ENDED:])


_meter: list[Meter] = []
_making = threading.Lock()


def mine() -> Meter:
    """The counts of this process; a fork has its own."""
    if not _meter or _meter[0].pid != os.getpid():
        with _making:
            if not _meter or _meter[0].pid != os.getpid():
                _meter[:] = [Meter(Path(os.environ[FOLDER]))]
    return _meter[0]
