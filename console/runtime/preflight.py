"""Checks before anything is started; each failure is a sentence."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEGABYTE = 2**20
LEAST_FREE_BYTES = 500 * MEGABYTE


class CannotStart(Exception):
    """A condition outside the program prevents the start; the text says what to do."""


@contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Lock ``var`` for this process; the system releases the lock when it ends."""
    path = var / "lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise CannotStart(
                f"Backout is already running on {var} (process {holder}). Stop it"
                " first, or name another directory: BACKOUT_VAR=<directory>."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def check_directory(var: Path) -> None:
    """Create ``var``; check that it is writable and has space.

    It holds messages and logs: from now on no other user can read it, nor what this
    process and its children create.
    """
    os.umask(0o077)
    try:
        (var / "log").mkdir(parents=True, exist_ok=True)
        close(var)
    except OSError as error:
        raise CannotStart(_unusable(var, error)) from None
    if not os.access(var, os.W_OK | os.X_OK):
        raise CannotStart(_unusable(var, OSError(errno.EACCES, "Permission denied")))
    free = shutil.disk_usage(var).free
    if free < LEAST_FREE_BYTES:
        raise CannotStart(
            f"Only {free // MEGABYTE} MB are free on the disk of {var}; Backout needs"
            f" at least {LEAST_FREE_BYTES // MEGABYTE} MB. Make room, or name a"
            " directory on another disk: BACKOUT_VAR=<directory>."
        )


def close(var: Path) -> None:
    """Take the permissions of other users from ``var`` and from all below it.

    Others may still pass through ``var``: the user of PostgreSQL has to. Its data
    directory is left to it.
    """
    for directory, _, files in os.walk(var):
        inside = Path(directory)
        kept = stat.S_IXOTH if inside == var else 0
        for path in (inside, *(inside / name for name in files)):
            mode = path.lstat().st_mode
            is_ours = path.lstat().st_uid == os.geteuid() and not stat.S_ISLNK(mode)
            if is_ours and mode & 0o077 & ~kept:
                path.chmod(stat.S_IMODE(mode) & ~0o077 | mode & kept)


def check_port(host: str, port: str) -> None:
    """Check that the web process can listen."""
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise CannotStart(f"PORT is {port!r}; a port is a number from 1 to 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            raise CannotStart(_cannot_listen(host, port, error)) from None


def _unusable(var: Path, error: OSError) -> str:
    return (
        f"{var} cannot be written to ({error.strerror}). Make it writable for this"
        " user, or name another directory: BACKOUT_VAR=<directory>."
    )


def _cannot_listen(host: str, port: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is in use by another program. Stop that, or choose"
            f" another port: make run PORT={int(port) % 65535 + 1}."
        )
    return (
        f"The console cannot listen on {host}, port {port} ({error.strerror})."
        " Choose others: make run HOST=127.0.0.1 PORT=8001."
    )
