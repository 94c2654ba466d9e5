"""What tests of numbers share: Redis and Spark of their own, and commits that are real.

Where a test does not ask for Redis, there is none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings
from redis import Redis

from broker.models import Queue
from console.runtime import wheels
from dashboards.live import samples
from tests.console.until import until
from tests.make import make_queue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # twice as quick to start
# A few rows are sooner read than code for them is made, and lie in one part.
FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="session")
def server() -> Iterator[Redis]:
    with TemporaryDirectory() as directory:
        socket = f"{directory}/redis.sock"
        command = [str(wheels.valkey()), "--port", "0", "--unixsocket", socket]
        with subprocess.Popen([*command, "--save", ""], cwd=directory) as process:
            client = Redis(unix_socket_path=socket)
            until(lambda: Path(socket).exists() and client.ping())
            yield client
            process.terminate()


@pytest.fixture
def redis(server: Redis, settings: Settings) -> Iterator[Redis]:
    """An empty Redis that rates and the channel layer use."""
    server.flushall()
    use(settings, f"unix://{server.get_connection_kwargs()['path']}")
    yield server
    samples.memory().close()
    samples.memory.cache_clear()


@pytest.fixture(autouse=True)
def _no_redis(settings: Settings) -> None:
    use(settings, "unix:///nowhere/redis.sock")


def use(settings: Settings, url: str) -> None:
    samples.memory.cache_clear()
    settings.REDIS_URL = url
    layer = settings.CHANNEL_LAYERS["default"]
    (host,) = layer["CONFIG"]["hosts"]
    there = {"CONFIG": {"hosts": [host | {"address": url}]}}
    settings.CHANNEL_LAYERS = {"default": layer | there}


@pytest.fixture
def committed(transactional_db: None, settings: Settings, tmp_path: Path) -> None:
    """Other connections see what a test writes, and what it archives is its own."""
    settings.VAR_DIR = tmp_path


@pytest.fixture
def orders(committed: None) -> Queue:
    return make_queue("orders")


@pytest.fixture(scope="session")
def spark_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture
def spark(spark_files: Path, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The same one, started by the first test that asks, for a short life."""
    from dashboards.spark import idle, session  # noqa: PLC0415  for marked tests only

    monkeypatch.setattr(idle, "END_AFTER_S", 1e5)  # others use it, too
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", SHORT_LIVED)
    running = session.spark(spark_files)
    for name, value in FEW_ROWS.items():
        running.conf.set(name, value)
    return running


@pytest.fixture
def plain_names(settings: Settings, tmp_path: Path) -> None:
    """Static files keep their names: nobody collects them for a test."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
    settings.STATIC_ROOT = tmp_path
