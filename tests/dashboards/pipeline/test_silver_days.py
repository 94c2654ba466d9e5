"""A day is made once, whole or not at all, and again when something of it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from pytest_django import Settings

from broker.models import Kind, Place, Queue
from dashboards.models import ArchiveFile, PublishedDay
from dashboards.pipeline.archive import clear
from dashboards.pipeline.manifest import current
from dashboards.reports.errors import QualityBroken, VersionUnknown
from tests.broker.elsewhere import process, said
from tests.dashboards.files import place
from tests.dashboards.journal import record, until_final
from tests.dashboards.silver_tables import refreshed, rows, silver
from tests.make import NOON, minutes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
]

NEXT = NOON + timedelta(days=1)
PUT: dict[str, Any] = {"kind": Kind.PUT, "way": (None, Place.READY)}
GET: dict[str, Any] = {"kind": Kind.GET, "way": (Place.READY, Place.CLAIMED)}
ACCEPT: dict[str, Any] = {"kind": Kind.ACCEPT, "way": (Place.CLAIMED, None)}

RUN = """
from dashboards.pipeline import silver_days
from dashboards.spark import session
from contextlib import nullcontext
from django.conf import settings
from dashboards.pipeline import bronze
settings.VAR_DIR = {var!r}
as_of = bronze.export(lambda _: None)
def publish(*_):
    print("made", flush=True)
    sys.stdin.readline()
silver_days.publish = publish
spark = session.spark({var!r} / "spark")
silver_days.bring_up_to_date(spark, 77, as_of, lambda *_: nullcontext())
"""


def begin(queue: Queue) -> None:
    """Two messages; one is got on the first day, and accepted on the next."""
    record(queue, [5001, 5002], **PUT)
    record(queue, [5001], at=NOON + minutes(1), **GET)
    until_final(record(queue, [5001], at=NEXT, **ACCEPT))


def test_a_day_made_twice_is_the_same_and_a_late_event_opens_it_again(
    orders: Queue, spark: SparkSession
) -> None:
    begin(orders)
    assert refreshed(spark) == 2
    first = silver(spark)
    assert [row["attempt"] for row in first[0]] == [1]
    assert [row["held_us"] for row in first[1]] == [(24 * 60 - 1) * 60_000_000]
    assert refreshed(spark) == 0

    PublishedDay.objects.all().delete()
    assert refreshed(spark) == 2
    assert silver(spark) == first

    until_final(record(orders, [5003], at=NOON - minutes(60), **PUT))
    assert refreshed(spark) == 2, "that day, and the one after it"
    after = rows(spark, "open", NEXT.date())
    assert [row["message_id"] for row in after] == [5002, 5003]

    lost = current("open").order_by("day").last()
    assert lost
    place(lost).unlink()
    assert refreshed(spark) == 1, "a lost file is made anew"
    assert rows(spark, "open", NEXT.date()) == after


HOSTILE = 'two\nlines\r\t\x1f "of" \\ \u2028 é 𝄞 {"cause": [null]}'


def test_what_is_open_is_carried_on_whole(orders: Queue, spark: SparkSession) -> None:
    record(orders, [5001], cause=HOSTILE, **PUT)
    record(orders, [5001], at=NOON + minutes(1), **GET)
    refreshed(spark)
    until_final(record(orders, [5001], at=NEXT, **ACCEPT))
    refreshed(spark)

    (stay,) = rows(spark, "lifelines")
    assert stay["put_cause"] == HOSTILE
    assert (stay["began"], stay["put_at"]) == ("put", NOON)
    assert stay["first_got_at"] == NOON + minutes(1)
    assert (stay["waited_us"], stay["deliveries"]) == (60_000_000, 1)


def test_a_late_event_that_leaves_nothing_open_changes_no_later_day(
    orders: Queue, spark: SparkSession
) -> None:
    begin(orders)
    refreshed(spark)
    later = rows(spark, "open", NEXT.date())

    record(orders, [5003], **PUT)
    record(orders, [5003], at=NOON + minutes(1), **GET)
    until_final(record(orders, [5003], at=NOON + minutes(2), **ACCEPT))

    assert refreshed(spark) == 1
    ended = [row["message_id"] for row in rows(spark, "lifelines")]
    assert ended == [5001, 5003]
    assert rows(spark, "open", NEXT.date()) == later
    assert refreshed(spark) == 0


def test_events_in_the_wrong_order_are_sorted_and_no_other_entry_is_touched(
    orders: Queue, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboards.pipeline import silver_days  # noqa: PLC0415  loads Spark

    begin(orders)
    record(orders, [5003], at=NOON + minutes(3), **PUT)
    record(orders, [5003], at=NOON + minutes(5), **GET)
    record(orders, [5003], at=NOON + minutes(4), **ACCEPT)
    record(orders, [5002], at=NEXT + minutes(2), **GET)
    until_final(record(orders, [5002], at=NEXT + minutes(1), **ACCEPT))
    assert refreshed(spark) == 2

    attempts, stays, _ = together = silver(spark)
    outcomes = [(row["message_id"], row["attempt"], row["outcome"]) for row in attempts]
    assert outcomes == [(one, 1, "accepted") for one in (5001, 5002, 5003)]
    got = {row["message_id"]: row["got_at"] for row in attempts}
    assert got[5003] == NOON + minutes(5)
    assert len(stays) == 3

    PublishedDay.objects.all().delete()
    monkeypatch.setattr(silver_days, "TOGETHER", 1)
    assert refreshed(spark) == 2
    assert silver(spark) == together, "day by day"


def test_parts_may_be_small_and_some_have_no_messages(
    orders: Queue, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboards.pipeline import silver_days  # noqa: PLC0415  loads Spark

    begin(orders)
    refreshed(spark)
    expected = silver(spark)
    PublishedDay.objects.all().delete()

    monkeypatch.setattr(silver_days, "MOST_ROWS", 1)
    assert refreshed(spark) == 2
    assert silver(spark) == expected


def test_a_day_may_have_no_line_at_all(orders: Queue, spark: SparkSession) -> None:
    until_final(record(orders, [5001], kind=Kind.TRANSFER, way=(None, Place.READY)))

    assert refreshed(spark) == 1
    assert silver(spark) == [[], [], []]


SEAMS = [
    ("sources", "events"),
    ("silver_days", "tell"),
    ("silver_days", "finish"),
    ("silver_days", "gathered"),
    ("silver", "check"),
    ("silver_days", "put_in_place_of"),
]


def test_who_dies_at_any_step_leaves_the_old_day_and_the_next_makes_the_new(
    orders: Queue, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(orders)
    refreshed(spark)
    old = silver(spark)
    until_final(record(orders, [5003], **PUT))

    for module, step in SEAMS:
        with monkeypatch.context() as patched:
            where = import_module(f"dashboards.pipeline.{module}")
            patched.setattr(where, step, dying(getattr(where, step)))
            with pytest.raises(Dead):
                refreshed(spark)
        assert silver(spark) == old, step

    assert refreshed(spark) == 2
    opened = rows(spark, "open", NEXT.date())
    assert [row["message_id"] for row in opened] == [5002, 5003]


class Dead(BaseException):
    """What no step expects."""


def dying(step: Callable[..., object]) -> Callable[..., object]:
    """A step that is done, and then its process dies."""

    def die(*args: object, **named: object) -> object:
        step(*args, **named)
        raise Dead

    return die


def test_a_killed_process_leaves_nothing_that_is_read(
    orders: Queue, spark: SparkSession
) -> None:
    begin(orders)
    with process(RUN.format(var=settings.VAR_DIR).replace("PosixPath", PATH)) as other:
        assert said(other) == "made"
        other.kill()
        other.wait()
    assert not PublishedDay.objects.exists()

    assert refreshed(spark) == 2
    assert [row["message_id"] for row in rows(spark, "lifelines")] == [5001]
    assert [row["message_id"] for row in rows(spark, "open", NEXT.date())] == [5002]


PATH = "__import__('pathlib').Path"


def test_a_delivery_without_a_put_is_noticed(
    orders: Queue, spark: SparkSession
) -> None:
    record(orders, [1], **PUT)
    until_final(record(orders, [9000], at=NEXT, **GET))

    with pytest.raises(QualityBroken, match="every delivered message was put before"):
        refreshed(spark)

    assert [one.day for one in PublishedDay.objects.all()] == [NOON.date()]


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({"entries": 11}, "every message of every journal row was read"),
        ({"again": 1}, "no message left a queue twice"),
        ({"without_put": 7}, "every delivered message was put before"),
        ({"deliveries_ended": 3}, "every delivery that ended is counted once"),
        ({"ended": 2}, "every message that left a queue is counted once"),
        ({"begun": 2}, "every message is still on a queue or has left it"),
    ],
)
def test_what_is_written_is_held_to_the_lines(
    found: dict[str, int], sentence: str
) -> None:
    from dashboards.pipeline import silver  # noqa: PLC0415  loads Spark

    right = silver.Tally(
        entries=10,
        of_links=0,
        lines=10,
        begun=1,
        ended=1,
        deliveries_ended=2,
        again=0,
        without_put=6,
        floor=None,
    )
    known = {"carried": 1, "deliveries": 2, "lifelines": 1, "opened": 1, "floor": 7}
    silver.check(right, **known)
    with pytest.raises(QualityBroken, match=sentence):
        silver.check(right._replace(**found), **known)


def test_files_of_the_first_version_are_read(
    orders: Queue, spark: SparkSession
) -> None:
    begin(orders)
    refreshed(spark)
    expected = silver(spark)
    for file in current("bronze"):
        write_as_first(file)
    PublishedDay.objects.all().delete()

    assert refreshed(spark) == 2
    assert silver(spark) == expected

    ArchiveFile.objects.filter(table="bronze").update(version=9)
    PublishedDay.objects.all().delete()
    with pytest.raises(VersionUnknown, match=r"bronze/2026-03-14/000001\.parquet"):
        refreshed(spark)


def write_as_first(file: ArchiveFile) -> None:
    from dashboards.pipeline.archive import checksum  # noqa: PLC0415

    table = pq.read_table(place(file)).drop_columns(["fingerprint"])
    version = pa.array([1] * table.num_rows, pa.int16())
    pq.write_table(table.add_column(0, "schema_version", version), place(file))
    ArchiveFile.objects.filter(pk=file.pk).update(
        version=1, checksum=checksum(place(file))
    )


@pytest.fixture(autouse=True)
def _nothing_is_left(settings: Settings) -> Iterator[None]:
    yield
    clear(Path(settings.VAR_DIR) / "reports")
