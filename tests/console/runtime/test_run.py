"""The launcher as a person meets it: one command, sentences, and an end."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import psutil
import pytest
from django.conf import settings

from broker.config import system_queues
from broker.config.address_settings import settings_for
from broker.config.django_settings import FOLLOWING
from broker.config.lint import advice
from broker.config.names import local_queue
from broker.models import Queue
from console.runtime import first_run, keys, launcher, preflight, supervisor
from console.runtime.forkserver import IS_SAFE
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import MARK
from tests.console.ports import kept_port
from tests.console.until import until
from tests.make import make_queue

pytestmark = pytest.mark.thorough

LONGEST_S = 240  # of a run, where much else goes on
PROCFILE = """\
web: python -m http.server --bind $HOST $PORT
worker: sleep 1000
"""


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as port:
        yield port


@pytest.fixture
def procfile(tmp_path: Path) -> Path:
    path = tmp_path / "Procfile"
    path.write_text(PROCFILE)
    return path


def test_a_console_starts_ends_and_starts_again(
    tmp_path: Path, procfile: Path, port: int
) -> None:
    var = tmp_path / "var"

    with running(var, procfile, port) as launcher:
        first = start_up(launcher)
        assert not IS_SAFE or until(lambda: marked(var, "backout web")), "its name"
        worker = until(lambda: marked(var, "sleep"))[0]
        worker.kill()
        until(lambda: marked(var, "sleep") not in ([], [worker]))
        launcher.terminate()
        assert launcher.wait(60) == 0
    assert (var / "lock").read_text() == ""
    assert "with the password" in first
    assert first.endswith(f"Backout is running: http://127.0.0.1:{port}/\n")
    for name in ("secret_key", "secret_keys"):
        assert stat.S_IMODE((var / name).stat().st_mode) == 0o600
    assert [one for one in var.rglob("*") if one.stat().st_mode & 0o077] == []
    assert not marked(var)

    with running(var, procfile, port) as launcher:
        second = start_up(launcher)
        launcher.kill()  # and all it had started goes on
    assert not re.search("password|Making|Bringing|Collecting", second)
    assert until(lambda: marked(var))

    with running(var, procfile, port) as launcher:
        third = start_up(launcher)
        url = supervisor.address_of(str(var))
        launcher.send_signal(signal.SIGINT)
        last, _ = launcher.communicate(timeout=60)
    assert str(url) in third  # and it is told again at the end
    assert f"Stopping {url}.\n" in last
    assert "Processes of an earlier run are still there" in third
    assert "The PostgreSQL of an earlier run is still there" in third
    assert not marked(var)


def test_pages_that_do_not_come_up_end_the_start(
    tmp_path: Path, procfile: Path, port: int
) -> None:
    procfile.write_text("web: echo I cannot; exit 3\n")

    with running(tmp_path / "var", procfile, port) as launcher:
        output, _ = launcher.communicate(timeout=LONGEST_S)

    assert launcher.returncode == 1
    assert "I cannot" in output
    assert "The pages do not answer" in output


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(CannotStart, match=f"Port {port} .*make run PORT="):
            preflight.check_port("127.0.0.1", str(port))


@pytest.mark.parametrize("port", ["", "http", "0", "65536", "-1"])
def test_a_port_is_a_number(port: str) -> None:
    with pytest.raises(CannotStart, match="from 1 to 65535"):
        preflight.check_port("127.0.0.1", port)


def test_too_little_room_is_said_with_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly_full = type(shutil.disk_usage(tmp_path))(10**12, 10**12, 312 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: nearly_full)

    with pytest.raises(CannotStart, match="Only 312 MB are free"):
        preflight.check_directory(tmp_path / "var")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CannotStart, match="file/var cannot be written to"):
        preflight.check_directory(tmp_path / "file" / "var")


def test_a_secret_key_is_made_once(tmp_path: Path) -> None:
    keys.make_secret_key(tmp_path / "key")
    key = (tmp_path / "key").read_text()

    keys.make_secret_key(tmp_path / "key")

    assert (tmp_path / "key").read_text() == key
    assert len(key) > 50


@pytest.mark.django_db
def test_there_is_one_first_administrator() -> None:
    assert first_run.first_administrator()
    assert first_run.first_administrator() is None


@pytest.mark.django_db
@pytest.mark.spec("UNIFY-15")
def test_a_new_broker_has_places_for_what_goes_wrong() -> None:
    system_queues.make_missing()
    first_run.make_places()

    assert local_queue("SYSTEM.DEAD.LETTER.QUEUE").max_depth is None
    setting = settings_for("anything")
    assert (setting.dead_letter_address, setting.expiry_address) == (
        "DLQ",
        "ExpiryQueue",
    )
    fed = Queue.objects.filter(address__name__in=["DLQ", "ExpiryQueue"])
    assert fed.values("address").distinct().count() == 2
    assert not [one for one in advice() if one.code == "no-dead-letter-queue"]


@pytest.mark.django_db
def test_places_are_made_once_and_never_again() -> None:
    make_queue("orders")
    first_run.make_places()
    assert Queue.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.spec("UNIFY-15")
def test_a_dead_letter_queue_exists_only_once_it_is_defined() -> None:
    assert [one for one in advice() if one.code == "no-dead-letter-queue"]


def test_a_demo_from_nowhere_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="There is no directory"):
        launcher.table(settings.BASE_DIR / "Procfile", str(tmp_path / "missing"), {})


def test_the_manual_has_the_commands_of_the_procfile() -> None:
    manual = (settings.BASE_DIR / "docs" / "operations.md").read_text()

    for program in launcher.table(settings.BASE_DIR / "Procfile", None, {}):
        assert program.arguments[-1].removeprefix("exec ") in manual, program.name


def test_the_demo_has_clients_of_the_listener() -> None:
    procfile = settings.BASE_DIR / "Procfile"
    names = [
        [one.name for one in launcher.table(procfile, demo, {})] for demo in (None, "")
    ]
    assert {*names[1]} - {*names[0]} == {"clients", "demo", "tasks"}
    assert "listener" in names[0]


def test_all_programs_are_told_where_the_listener_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BROKER_AMQP_PORT", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setitem(FOLLOWING, "BROKER_AMQP_PORT", lambda _: port)
        other = int(launcher.environment_of_children(None)["BROKER_AMQP_PORT"])
        assert port < other < port + 20
        monkeypatch.setenv("BROKER_AMQP_PORT", str(port))  # the listener will refuse it
        assert launcher.port_of_listener() == port
    monkeypatch.setenv("BROKER_AMQP_PORT", "amqp")
    with pytest.raises(CannotStart, match="BROKER_AMQP_PORT must be of type int"):
        launcher.port_of_listener()
    monkeypatch.delenv("BROKER_AMQP_PORT")
    monkeypatch.setenv("BROKER_AMQP_HOST", "192.0.2.1")  # nobody has it
    with pytest.raises(CannotStart):
        launcher.port_of_listener()


def test_the_launcher_does_not_load_what_its_programs_need() -> None:
    """It stays as long as they do, and shares no memory with them."""
    code = "import sys, console.runtime.launcher; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "console.runtime.supervisor" in loaded
    assert not loaded & {"django.apps", "psycopg", "redis", "celery", "ssl", "asyncio"}


def test_settings_that_cannot_be_loaded_end_the_start(
    tmp_path: Path, procfile: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKOUT_LOG_FORMAT", "xml")

    with running(tmp_path / "var", procfile, port) as launched:
        output, _ = launched.communicate(timeout=LONGEST_S)

    assert launched.returncode == 1
    assert "BACKOUT_LOG_FORMAT is text or json, not 'xml'." in output
    assert "The reason is above." in output


def test_the_demo_takes_messages_from_a_directory(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()

    *_, demo = launcher.table(
        settings.BASE_DIR / "Procfile", str(tmp_path / "two words"), {}
    )

    assert demo.arguments[-1] == (
        f"exec python manage.py seed_demo --forever --dir '{tmp_path}/two words'"
    )


def test_each_vendored_file_is_as_the_manifest_says() -> None:
    folder = settings.BASE_DIR / "static" / "vendor"
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    for name, said in manifest.items():
        body = (folder / name).read_bytes()
        assert hashlib.sha256(body).hexdigest() == said["sha256"], name
    licences = {f"LICENSE.{one['package']}" for one in manifest.values()}
    assert {one.name for one in folder.iterdir()} == (
        {"MANIFEST.json", *manifest} | licences
    )


@contextmanager
def running(var: Path, procfile: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL")
    }
    launcher = subprocess.Popen(
        [sys.executable, "manage.py", "run", "--procfile", str(procfile)],
        cwd=settings.BASE_DIR,
        env=environment | {"BACKOUT_VAR": str(var), "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    limit = Timer(LONGEST_S, launcher.terminate)
    limit.start()
    try:
        yield launcher
    finally:
        limit.cancel()
        launcher.terminate()
        launcher.wait(60)
        assert launcher.stdout
        launcher.stdout.close()


def start_up(launcher: subprocess.Popen[str]) -> str:
    """What the launcher says until the console is running."""
    said = io.StringIO()
    assert launcher.stdout
    for line in launcher.stdout:
        said.write(line)
        if line.startswith("Backout is running"):
            break
    return said.getvalue()


def marked(var: Path, name: str = "") -> list[psutil.Process]:
    """What runs for a launcher on this directory."""
    found = []
    for process in psutil.process_iter(["name", "environ"]):
        environment = process.info["environ"] or {}
        if environment.get(MARK) == str(var) and name in process.info["name"]:
            found.append(process)
    return found
