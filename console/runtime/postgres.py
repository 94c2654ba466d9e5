"""The data directory of the embedded PostgreSQL: creation, ownership, exclusive use."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from console.runtime import wheels
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Say

STOPS_WITHIN_S = 60
# The user that runs PostgreSQL in place of root, which PostgreSQL refuses. The wheel
# uses this name, too.
OWN_USER = "pgserver"
SYSTEM_PATH = f"{os.defpath}:/usr/sbin:/sbin"


@dataclass(frozen=True)
class DataOwner:
    """The user that owns the data and runs PostgreSQL."""

    user: int
    group: int

    @property
    def run_as(self) -> tuple[int, int] | None:
        """The user and group to switch to, if needed."""
        return (self.user, self.group) if os.geteuid() == 0 else None


def program(name: str) -> Path:
    """One of PostgreSQL's programs.

    Raises:
        CannotStart: its wheel is not installed.
    """
    return wheels.postgresql() / "bin" / name


def data_dir(var: Path) -> Path:
    return var / "pg"


def ourselves() -> DataOwner:
    return DataOwner(os.geteuid(), os.getegid())


def owner(var: Path) -> DataOwner:
    """The user to run PostgreSQL: this one, or for root a dedicated user.

    Raises:
        CannotStart: the data belongs to another user, or that user cannot be made.
    """
    data = data_dir(var)
    found = data.stat() if data.exists() else None
    if os.geteuid() != 0:
        if found and found.st_uid != os.geteuid():
            raise CannotStart(
                f"The database in {data} belongs to another user (number"
                f" {found.st_uid}). Run as that user, or as root if root made it; or"
                " name another directory: BACKOUT_VAR=<directory>."
            )
        return ourselves()
    if found and found.st_uid != 0:
        return DataOwner(found.st_uid, found.st_gid)
    return _own_user()


def prepare(var: Path, owner: DataOwner, say: Say) -> None:
    """Create the data directory if missing; give its owner access."""
    data = data_dir(var)
    if owner.run_as:
        _open_the_way(var, say)
    if (data / "PG_VERSION").exists():
        return
    say("Making the database.")
    # The new directory is renamed when it is complete, so that a start that is killed
    # leaves no partial data.
    new = var / "pg.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if owner.run_as:
        os.chown(new, owner.user, owner.group)
    made = subprocess.run(  # noqa: S603 -- the wheel's own binary
        [
            program("initdb"),
            *("--pgdata", new, "--username", "postgres", "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C", "--data-checksums"),
            *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
        ],
        capture_output=True,
        text=True,
        cwd=new,
        user=owner.run_as and owner.user,
        group=owner.run_as and owner.group,
        extra_groups=owner.run_as and [],
        check=False,
    )
    if made.returncode:
        raise CannotStart(f"The database could not be made in {data}.\n{made.stderr}")
    new.rename(data)


def stop_left_behind(var: Path, say: Say) -> None:
    """Stop a server that a killed launcher left on this data directory.

    The process id in a stale ``postmaster.pid`` may belong to another process by now.
    Only a PostgreSQL whose working directory is this one is signalled.
    """
    file = data_dir(var) / "postmaster.pid"
    try:
        pid = int(file.read_text().split(maxsplit=1)[0])
    except (FileNotFoundError, IndexError, ValueError):
        return
    try:
        postmaster = psutil.Process(pid)
        ours = "postgres" in postmaster.name() and Path(postmaster.cwd()) == data_dir(
            var
        )
    except psutil.NoSuchProcess:
        return  # PostgreSQL itself sees that the file is stale
    except psutil.AccessDenied:
        ours = False
    if not ours:
        file.unlink()  # else PostgreSQL takes the file as valid and refuses to start
        return
    say(f"The PostgreSQL of an earlier run is still there ({pid}); it is stopped.")
    # If the old server does not end, the new one refuses to start and says why.
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        postmaster.send_signal(signal.SIGINT)
        postmaster.wait(STOPS_WITHIN_S)


def _own_user() -> DataOwner:
    try:
        user = pwd.getpwnam(OWN_USER)
    except KeyError:
        _make_user(OWN_USER)
        user = pwd.getpwnam(OWN_USER)
    return DataOwner(user.pw_uid, user.pw_gid)


def _make_user(name: str) -> None:
    useradd = shutil.which("useradd", path=SYSTEM_PATH) or "useradd"
    try:
        subprocess.run(  # noqa: S603 -- the system's own program
            [useradd, "--system", "--user-group", "--no-create-home", name],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotStart(
            "PostgreSQL does not run as root, and a user of its own could not be made"
            f" ({error}). Make one: useradd {name}; or run as an ordinary user."
        ) from None


def _open_the_way(var: Path, say: Say) -> None:
    """Let another user reach the binaries and the data, and read the binaries."""
    binaries = wheels.postgresql() / "bin"
    # Binaries that were installed under umask 077 cannot be read by others.
    if not binaries.parent.stat().st_mode & stat.S_IROTH:
        for path in binaries.parent.rglob("*"):
            mode = path.stat().st_mode
            path.chmod(stat.S_IMODE(mode) | (mode & 0o700) >> 6)
    closed = [
        directory
        for directory in sorted({*binaries.parents, *data_dir(var).parents})
        if not directory.stat().st_mode & stat.S_IXOTH
    ]
    for directory in closed:
        directory.chmod(stat.S_IMODE(directory.stat().st_mode) | stat.S_IXOTH)
    if closed:
        through = ", ".join(map(str, closed))
        say(f"PostgreSQL does not run as root; it may now pass through {through}.")
