"""A database whose commits are real, files of a test's own, and one Spark for all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from broker.models import Queue
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
    from dashboards.reports import session  # noqa: PLC0415  for marked tests only

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
