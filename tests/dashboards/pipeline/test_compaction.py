"""The archive stays small, and forgets what is old, without losing what goes on."""

from __future__ import annotations

from datetime import timedelta

import pyarrow.parquet as pq

from broker.models import Kind, Place, Queue
from dashboards.models import ArchiveFile, PublishedDay, ReportRow, ReportRun
from dashboards.pipeline import bronze, compaction, manifest
from dashboards.pipeline.manifest import BRONZE, GOLD, MESSAGES, SILVER, current
from tests.dashboards.files import place, root
from tests.dashboards.journal import held_elsewhere, record, until_final
from tests.make import NOON

DAY = timedelta(days=1)
NOW = NOON + 3 * DAY
AT_ONCE = timedelta(0)


def export() -> None:
    bronze.export(lambda _: None)


def ids() -> list[int]:
    return [
        one
        for file in current(BRONZE).order_by("day", "lo")
        for ids in pq.read_table(place(file))["ids"].to_pylist()
        for one in ids
    ]


def test_a_day_that_is_over_becomes_one_file(orders: Queue) -> None:
    for n in (1, 2, 3):
        record(orders, [10 + n], at=NOON + DAY)
        until_final(record(orders, [n]))
        export()
    assert current(BRONZE).count() == 6
    pieces = [place(file) for file in current(BRONZE)]

    compaction.keep_small(NOON + DAY, keep_days=400)

    assert [(f.day, f.rows) for f in current(BRONZE)] == [
        (NOON.date(), 3),
        *[((NOON + DAY).date(), 1)] * 3,  # not over yet
    ]
    assert ids() == [1, 2, 3, 11, 12, 13]
    assert all(piece.exists() for piece in pieces), "somebody may be reading them"
    compaction.keep_small(NOON + DAY, keep_days=400)
    assert current(BRONZE).count() == 4

    assert manifest.sweep(AT_ONCE) == 3
    assert [piece.exists() for piece in pieces].count(False) == 3
    assert ids() == [1, 2, 3, 11, 12, 13]

    whole = current(BRONZE).get(day=NOON.date())
    place(whole).unlink()
    bronze.file_of(whole)
    assert ids() == [1, 2, 3, 11, 12, 13], "copied again, of that day alone"


def test_who_dies_while_compacting_leaves_the_pieces(orders: Queue) -> None:
    for n in (1, 2):
        until_final(record(orders, [n]))
        export()
    folder = root() / BRONZE / str(NOON.date())
    (folder / "through-000002.draft").write_bytes(b"PAR1")

    assert ids() == [1, 2]
    compaction.keep_small(NOW, keep_days=400)

    assert ids() == [1, 2]
    assert [file.path for file in current(BRONZE)] == [
        "bronze/2026-03-14/through-000002.parquet"
    ]


def test_what_is_past_retention_goes_and_what_was_open_stays(orders: Queue) -> None:
    for n in range(3):
        record(orders, [n + 1], at=NOON + n * DAY)
    until_final(record(orders, [4], at=NOON + 3 * DAY))
    export()
    for n in range(4):
        published(n)

    compaction.keep_small(NOON + 3 * DAY, keep_days=1)

    assert ids() == [3, 4]
    left = PublishedDay.objects.filter(table=SILVER).values_list("day", flat=True)
    assert list(left) == [(NOON + n * DAY).date() for n in (1, 2, 3)]
    opened = [file.day for file in current("open")]
    assert opened == [(NOON + n * DAY).date() for n in (1, 2, 3)]


def published(n: int) -> None:
    """A day of silver, by its listing alone."""
    day = (NOON + n * DAY).date()
    PublishedDay.objects.create(
        table=SILVER, day=day, version=n, source=1, code=1, rows=1
    )
    ArchiveFile.objects.create(
        table="open",
        day=day,
        last_day=day,
        version=1,
        path=f"silver/{day}/run-{n}/open.parquet",
        rows=1,
        checksum="",
    )


def test_rows_of_reports_are_kept_as_long_as_each_says(orders: Queue) -> None:
    for report, days in (("throughput", 31), ("throughput", 29), ("dead-letters", 31)):
        day = (NOW - days * DAY).date()
        ReportRow.objects.create(report=report, day=day, n=1, cells={})

    compaction.keep_small(NOW, keep_days=400)

    left = ReportRow.objects.order_by("report").values_list("report", flat=True)
    assert list(left) == ["dead-letters", "throughput"]


def test_what_a_dead_run_left_is_swept_and_a_living_one_s_is_not(
    orders: Queue,
) -> None:
    living, dead = (
        ReportRun.objects.create(report=slug, state="running")
        for slug in ("throughput", "debt")
    )
    runs = [f"run-{n}" for n in (living.pk, dead.pk, 0)]
    folders = [root() / SILVER / "2026-03-14" / run for run in runs]
    for folder in folders:
        folder.mkdir(parents=True)

    with held_elsewhere(living.pk):
        assert manifest.sweep() == 2

    assert [folder.exists() for folder in folders] == [True, False, False]


def test_files_that_nobody_came_to_list_are_swept(orders: Queue) -> None:
    until_final(record(orders, [1], kind=Kind.PUT, way=(None, Place.READY)))
    export()
    living = ReportRun.objects.create(report="throughput", state="running")
    gold = [
        root() / GOLD / "throughput" / "2026-03-14" / f"run-{n}.parquet"
        for n in (living.pk, 0)
    ]
    copied = [
        place(current(table).get()).parent / f"through-000002.{end}"
        for table in (BRONZE, MESSAGES)
        for end in ("draft", "parquet")
    ]
    for file in (*gold, *copied):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"PAR1")

    with held_elsewhere(living.pk):
        assert manifest.sweep() == 5

    assert [file.exists() for file in (*gold, *copied)] == [True, *[False] * 5]
    assert ids() == [1]
