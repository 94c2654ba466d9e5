"""A control group that is idle, as docs/operations.md asks for the unit of the reports
worker (``CPUWeight=idle``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CONTROL = Path("/sys/fs/cgroup")
NAME = "backout-bench-reports"


@contextmanager
def idle_group() -> Iterator[Path | None]:
    """The folder of a new group, which lasts as long as the block; None if this
    process may not make one."""
    try:
        folder = made(parent())
    except OSError:
        yield None
        return
    try:
        yield folder
    finally:
        with suppress(OSError):  # a process of it is about to end
            folder.rmdir()


def parent() -> Path:
    """The folder of all groups, of version 1 or 2, that share processors."""
    if not (CONTROL / "cgroup.controllers").exists():
        return CONTROL / "cpu"
    (CONTROL / "cgroup.subtree_control").write_text("+cpu")
    return CONTROL


def made(where: Path) -> Path:
    folder = where / NAME
    folder.mkdir(exist_ok=True)
    (folder / "cpu.idle").write_text("1")
    return folder


def put_in(group: Path | None, process: int) -> None:
    """What the process starts from now on is in the group too."""
    if group:
        (group / "cgroup.procs").write_text(str(process))
