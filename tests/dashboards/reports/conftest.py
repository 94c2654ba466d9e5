"""A database whose commits are real, swept afterwards, and one Spark for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from pytest_django import Settings

from broker.models import Queue
from tests.make import make_queue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # twice as quick to start

# Django's own sweep leaves these out.
SWEEP = """
    TRUNCATE broker_message, broker_ready, broker_delayed, broker_claim,
    broker_dead_letter, broker_event
"""


@pytest.fixture
def committed(
    transactional_db: None, settings: Settings, tmp_path: Path
) -> Iterator[None]:
    """Other connections see what a test writes, until Django's sweep and this one."""
    settings.VAR_DIR = tmp_path
    yield
    with connection.cursor() as cursor:
        cursor.execute(SWEEP)


@pytest.fixture
def orders(committed: None) -> Queue:
    return make_queue("orders")


@pytest.fixture(scope="session")
def spark_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture
def spark(spark_files: Path, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The same one, started by the first test that asks, for a short life."""
    from dashboards.reports import session  # noqa: PLC0415  for marked tests only

    monkeypatch.setenv("JAVA_TOOL_OPTIONS", SHORT_LIVED)
    return session.spark(spark_files)
