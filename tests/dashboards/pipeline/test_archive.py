"""The archive in an object store: the same files, and no disk of this machine."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from django.core.management import CommandError, call_command
from pyarrow import fs
from pytest_django import Settings

from broker.models import Queue
from dashboards.models import ArchiveFile, ReportRow, ReportRun
from dashboards.pipeline import archive, bronze, compaction, manifest, report_rows
from dashboards.pipeline.remote_path import RemotePath
from dashboards.reports import discover
from tests.broker.bridges.amqp_peers import free_port
from tests.console.until import until
from tests.dashboards.journal import record, until_final
from tests.make import NOON

pytestmark = pytest.mark.thorough

TODAY = NOON + timedelta(days=1)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """A server of S3, with a bucket; the URI of an archive in it."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    said = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=said, stderr=said) as server:
        until(lambda: answers_at(port))
        options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        uri = f"s3://key:secret@bucket/archive?{options}&allow_bucket_creation=true"
        store, _ = fs.FileSystem.from_uri(uri)
        store.create_dir("bucket")
        yield uri
        server.terminate()


def answers_at(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def stored(s3: str, orders: Queue, settings: Settings) -> Iterator[RemotePath]:
    settings.BACKOUT_ARCHIVE = s3
    folder = archive.root()
    assert isinstance(folder, RemotePath)
    yield folder
    folder.clear()


def ids(table: str = manifest.BRONZE) -> list[int]:
    """The messages in all listed files, in the order of the archive."""
    found = []
    for file in manifest.current(table).order_by("lo", "day"):
        with archive.reader(bronze.file_of(file)) as content:
            found += [n for row in content.read()["ids"].to_pylist() for n in row]
    return found


def export() -> None:
    bronze.export(lambda _: None)


def files(folder: RemotePath) -> set[str]:
    every = folder.files.get_file_info(fs.FileSelector(folder.path, recursive=True))
    return {one.path for one in every if one.type == fs.FileType.File}


def test_the_journal_is_copied_to_a_store(stored: RemotePath, orders: Queue) -> None:
    until_final(record(orders, [1, 2]))
    export()
    until_final(record(orders, [3]))
    export()
    assert ids() == [1, 2, 3]
    paths = set(ArchiveFile.objects.values_list("path", flat=True))
    assert files(stored) == {f"{stored.path}/{path}" for path in paths}
    assert "bronze/2026-03-14/000001.parquet" in paths
    assert str(stored) == "s3a://bucket/archive"  # for Spark, and for people

    compaction.keep_small(TODAY, 400)
    manifest.sweep(grace=timedelta(0))
    [whole] = manifest.current(manifest.BRONZE)
    assert files(stored) == {f"{stored.path}/{whole.path}"}
    assert ids() == [1, 2, 3]


def test_a_lost_file_of_a_store_is_copied_again(
    stored: RemotePath, orders: Queue
) -> None:
    until_final(record(orders, [1]))
    export()
    manifest.place(ArchiveFile.objects.get()).unlink()

    assert ids() == [1]


def test_leftovers_of_a_store_are_swept(stored: RemotePath, orders: Queue) -> None:
    until_final(record(orders, [1]))
    export()
    living = ReportRun.objects.create(report="debt")
    left = [
        stored / "silver/2026-03-14/run-0/deliveries/part-0.parquet",
        stored / "gold/debt/2026-03-14/run-0.parquet",
        stored / "bronze/2026-03-14/000009.draft",
    ]
    for one in left:
        with archive.writer(one, pa.schema([("n", pa.int64())])):
            pass
    assert living.state == ReportRun.State.WAITING

    assert manifest.sweep() == len(left)
    assert [one.exists() for one in left] == [False] * len(left)
    assert ids() == [1]


def test_rows_of_a_day_are_kept_in_a_store(stored: RemotePath) -> None:
    about = discover()["rescues"]
    kinds = {"date": pa.date32(), "string": pa.string(), "double": pa.float64()}
    fields = [(one.name, kinds.get(one.stored, pa.int64())) for one in about.columns]
    nothing = pa.schema(fields).empty_table()

    report_rows.publish(about, 7, NOON.date(), 1, nothing)

    [file] = manifest.current("gold/rescues")
    assert files(stored) == {f"{stored.path}/gold/rescues/2026-03-14/run-7.parquet"}
    assert archive.rows_in(manifest.place(file)) == 0


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_reads_and_writes_where_a_uri_says(
    orders: Queue, settings: Settings, tmp_path: Path
) -> None:
    """By the same code as for a store. Spark's client of S3 is not in its wheel."""
    settings.BACKOUT_ARCHIVE = (tmp_path / "shared").as_uri()
    until_final(record(orders, [1, 2]))
    call_command("run_report", "dead-letters", stdout=StringIO())
    until_final(record(orders, [3], at=TODAY))
    call_command("run_report", "dead-letters", stdout=StringIO())

    rows = ReportRow.objects.filter(report="dead-letters").order_by("day")
    assert [row.cells["dead_letters"] for row in rows] == [2, 1]
    tables = set(ArchiveFile.objects.values_list("table", flat=True))
    assert {"bronze", "lifelines", "gold/dead-letters"} <= tables
    for file in ArchiveFile.objects.all():
        assert (tmp_path / "shared" / file.path).exists()
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("where", ["nowhere://x/y", "s3://k:secret@b/p?region="])
def test_a_place_that_cannot_be_used_stops_a_run_with_a_sentence(
    where: str, orders: Queue, settings: Settings
) -> None:
    settings.BACKOUT_ARCHIVE = f"{where}&endpoint_override=127.0.0.1:1&scheme=http"

    with pytest.raises(CommandError, match=r"The archive .* cannot be used") as raised:
        call_command("run_report", "dead-letters", stdout=StringIO())

    assert "secret" not in str(raised.value)
