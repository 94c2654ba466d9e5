"""Through PgBouncer in transaction mode, which this machine may lack."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection, connections
from psycopg.conninfo import make_conninfo
from pytest_django import Settings

from broker.client import put, unit_of_work
from broker.errors import PoolerHasLocks
from broker.monitoring import fsck
from broker.queueing import processes
from console.runtime.postgres import SYSTEM_PATH
from tests.broker.bridges.other_backout import parameters
from tests.console.until import until
from tests.make import make_queue, make_setting

PGBOUNCER = shutil.which("pgbouncer", path=SYSTEM_PATH)
PREPARES = (1, 21)  # the first version that knows prepared statements
FEW = 2  # connections to the server: fewer than threads
THREADS, EACH = 4, 30
CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {few}
logfile = {folder}/log
{prepares}
"""

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None, reason="needs pgbouncer: apt-get install pgbouncer"
)


def version() -> tuple[int, ...]:
    assert PGBOUNCER is not None
    said = subprocess.run(
        [PGBOUNCER, "--version"], check=True, capture_output=True, text=True
    )
    return tuple(map(int, re.findall(r"\d+", said.stdout)[:2]))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may reach, unlike those of pytest."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def pooler(
    transactional_db: None, open_folder: Path, unused_tcp_port: int
) -> Iterator[int]:
    """The port of a pooler in front of the server of the tests."""
    assert PGBOUNCER is not None
    server = {"port": 5432} | parameters("")
    owner = Path(server["host"]).stat()  # only they may pass to its socket
    written = open_folder / "pgbouncer.ini"
    written.write_text(
        CONFIGURATION.format(
            **server,
            own_port=unused_tcp_port,
            few=FEW,
            folder=open_folder,
            prepares="max_prepared_statements = 200" if version() >= PREPARES else "",
        )
    )
    for one in (open_folder, written):
        os.chown(one, owner.st_uid, owner.st_gid)
    running = subprocess.Popen(
        [PGBOUNCER, "--quiet", written],
        user=owner.st_uid if os.geteuid() == 0 else None,
        group=owner.st_gid if os.geteuid() == 0 else None,
        extra_groups=[] if os.geteuid() == 0 else None,
    )
    try:
        until(lambda: answers(unused_tcp_port))
        yield unused_tcp_port
    finally:
        running.terminate()
        running.wait()


def answers(port: int) -> bool:
    name = connection.settings_dict["NAME"]
    try:
        psycopg.connect(host="127.0.0.1", port=port, dbname=name, user="any").close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def through(port: int, **options: Any) -> Iterator[None]:
    """All connections of this process lead through the pooler."""
    processes.resign()
    here, there = connections["default"], connection.copy()
    there.settings_dict |= {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "OPTIONS": options,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
    connections["default"] = there
    connections.settings["default"] = there.settings_dict
    try:
        yield
    finally:
        processes.resign()
        there.close()
        connections["default"] = here
        connections.settings["default"] = here.settings_dict


def direct(name: str = "") -> str:
    return make_conninfo(**parameters(name or connection.settings_dict["NAME"]))


def test_without_a_way_past_the_pooler_nothing_starts(pooler: int) -> None:
    with through(pooler):
        with pytest.raises(PoolerHasLocks, match="Set BROKER_DIRECT_DATABASE_URL to"):
            processes.current()
        with pytest.raises(CommandError, match="DATABASES leads to a connection poole"):
            call_command("broker_dispatch")


def test_the_way_past_the_pooler_leads_to_the_same_database(
    pooler: int, settings: Settings
) -> None:
    settings.BROKER_DIRECT_DATABASE_URL = direct("postgres")
    with through(pooler), pytest.raises(ImproperlyConfigured, match="another database"):
        processes.current()


@pytest.mark.parametrize("prepare_threshold", [None, 5])
def test_messages_pass_through_the_pooler(
    pooler: int, settings: Settings, prepare_threshold: int | None
) -> None:
    if prepare_threshold and version() < PREPARES:
        pytest.skip(f"PgBouncer {version()} knows no prepared statements")
    settings.BROKER_DIRECT_DATABASE_URL = direct()
    make_queue("orders")
    make_setting("orders", max_delivery_attempts=-1)
    with through(pooler, prepare_threshold=prepare_threshold):
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(put_some, range(THREADS)))
            got = [
                one for some in threads.map(get_some, range(THREADS)) for one in some
            ]
        assert len(got) == len(set(got)) == THREADS * EACH
        assert fsck.violations() == []
        assert is_locked(processes.current())
        me = processes.current()
        processes.resign()
        until(lambda: not is_locked(me))


def put_some(thread: int) -> None:
    for number in range(EACH):
        put("orders", f"{thread} {number}".encode())
    connection.close()


def get_some(thread: int) -> list[bytes]:
    """Accepted messages, until there are none; some are backed out before."""
    found: list[bytes] = []
    for turn in range(10 * EACH):
        try:
            with unit_of_work(join=turn % 2 == 0) as work:
                got = [bytes(one.body) for one in work.get("orders", limit=3)]
                if turn % 7 == thread:
                    raise KeyError(turn)
        except KeyError:
            continue
        found += got
        if not got:
            break
    connection.close()
    return found


def is_locked(owner: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid = %s::int::oid AND objid = %s::int::oid",
            [processes.LOCK_CLASS, owner],
        )
        return bool(cursor.fetchall())
