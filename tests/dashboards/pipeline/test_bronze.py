"""The archive loses nothing and doubles nothing, whoever dies or is late."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pyarrow.parquet as pq
import pytest
from django.db import connection, transaction

from broker.models import Kind, Place, Queue
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import bronze, locks
from dashboards.pipeline.fields import rows
from dashboards.pipeline.manifest import BRONZE, current
from dashboards.reports.errors import ArchiveBusy, ArchiveDamaged
from tests.dashboards.files import place, root
from tests.dashboards.journal import (
    held_elsewhere,
    other_connection,
    record,
    until_final,
)
from tests.make import NOON


def export(most: int = bronze.MOST) -> None:
    bronze.export(lambda _: None, most)


def archived() -> list[int]:
    """The messages in all listed files, in the order of the archive."""
    files = [place(file) for file in current(BRONZE).order_by("lo", "day")]
    return [
        message_id
        for file in files
        for ids in pq.read_table(file)["ids"].to_pylist()
        for message_id in ids
    ]


def test_events_are_archived_as_they_are(orders: Queue) -> None:
    until_final(record(orders, [1, 2], cause="REJECTED"))

    export()

    window = ExportWindow.objects.get()
    file = ArchiveFile.objects.get()
    [row] = pq.read_table(place(file)).to_pylist()
    assert (row["queue_id"], row["queue"], row["n"]) == (orders.pk, "orders", 2)
    assert (row["kind"], row["ids"]) == (Kind.DEAD_LETTER, [1, 2])
    assert (row["detail"], row["at"]) == ('{"cause": "REJECTED"}', NOON)
    assert file.path == "bronze/2026-03-14/000001.parquet"
    assert (file.day, file.last_day) == (NOON.date(), NOON.date())
    assert window.rows == file.rows == 1


def test_small_numbers_travel_together_and_arrive_as_they_were(orders: Queue) -> None:
    ways = [way for way in product([None, *Place], repeat=2) if any(way)]
    sent = [(kind, *way) for kind in Kind for way in ways]
    with transaction.atomic():
        for n, (kind, left, right) in enumerate(sent, start=1):
            xid = record(orders, range(n, 2 * n + 1), kind=kind, way=(left, right))
    Queue.objects.all().delete()
    until_final(xid)
    export()

    table = pq.read_table(place(current(BRONZE).get())).sort_by("seq")
    names = ("kind", "came_from", "went_to")
    assert list(zip(*(table[name].to_pylist() for name in names), strict=True)) == sent
    assert table["n"].to_pylist() == [n + 1 for n, _ in enumerate(sent, start=1)]
    assert set(table["queue_id"].to_pylist()) == {orders.pk}
    assert set(table["queue"].to_pylist()) == {None}, "deleted"


def test_each_event_is_archived_once(orders: Queue) -> None:
    until_final(record(orders, [1]))
    export()
    until_final(record(orders, [2]))
    export()

    assert archived() == [1, 2]


def test_a_long_journal_goes_over_in_windows_that_touch(orders: Queue) -> None:
    first = record(orders, [1])
    last = max(record(orders, [message_id]) for message_id in range(2, 8))
    until_final(last)

    export(most=3)

    assert archived() == list(range(1, 8))
    windows = list(ExportWindow.objects.all())
    assert windows[0].lo == first
    assert windows[-1].hi > last
    assert [w.hi for w in windows[:-1]] == [w.lo for w in windows[1:]]
    assert all(w.rows is not None and w.rows <= 3 for w in windows)


def test_a_window_has_a_transaction_whole_and_others_up_to_a_number_of_events(
    orders: Queue,
) -> None:
    for first in (1, 6):
        with transaction.atomic():
            for message_id in range(first, first + 4):
                record(orders, [message_id])
        last = record(orders, [first + 4])
    until_final(last)

    export(most=2)

    assert archived() == list(range(1, 11))
    assert [w.rows for w in ExportWindow.objects.all() if w.rows] == [4, 1, 4, 1]


def test_transactions_that_wrote_nothing_to_the_journal_do_not_end_a_window(
    orders: Queue,
) -> None:
    first = record(orders, [1])
    until_final(first)
    ends, events = bronze.counted(first - 5000, first + 5000)

    assert (ends[-1], events[-1]) == (first + 5000, 1)
    assert ends == sorted(ends)
    assert bronze.window_end(first - 5000, first + 5000, 1) == first + 5000


def test_what_an_open_transaction_wrote_arrives_later(orders: Queue) -> None:
    with other_connection() as late:
        slow = record(orders, [1], by=late)
        quick = record(orders, [2])
        assert quick > slow

        as_of = bronze.export(lambda _: None)
        assert archived() == []
        [started] = late.execute("SELECT now()").fetchone() or ()
        assert as_of <= started

        late.commit()
    until_final(quick)
    export()

    assert archived() == [1, 2]


def dies_before_the_file(_: ExportWindow) -> None:
    pass


def dies_within_the_file(_: ExportWindow) -> None:
    folder = root() / "bronze" / "2026-03-14"
    folder.mkdir(parents=True)
    (folder / "000001.draft").write_bytes(b"PAR1 and then the power went")


def dies_before_it_is_listed(window: ExportWindow) -> None:
    bronze.copy(window)


@pytest.mark.parametrize(
    "dies", [dies_before_the_file, dies_within_the_file, dies_before_it_is_listed]
)
def test_who_dies_halfway_is_repeated_exactly(
    orders: Queue, dies: Callable[[ExportWindow], None]
) -> None:
    first = record(orders, [1, 2])
    until_final(first)
    window = bronze.open_window(first, first + 1)
    dies(window)
    until_final(record(orders, [3]))

    export()

    assert archived() == [1, 2, 3]
    again = ExportWindow.objects.get(pk=window.pk)
    assert (again.lo, again.hi, again.rows) == (first, first + 1, 1)
    assert not list(root().glob("bronze/*/*.draft"))


def test_a_repeated_window_is_the_same_file(orders: Queue) -> None:
    until_final(max(record(orders, [n, n + 1]) for n in range(1, 20, 2)))
    export()
    file = ArchiveFile.objects.get()

    place(file).unlink()
    bronze.file_of(file)

    assert ArchiveFile.objects.get().checksum == file.checksum
    assert archived() == list(range(1, 21))


def test_a_lost_file_that_the_journal_forgot_is_reported(orders: Queue) -> None:
    until_final(record(orders, [1]))
    export()
    file = ArchiveFile.objects.get()
    place(file).write_bytes(b"moths")
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE broker_event")

    with pytest.raises(ArchiveDamaged, match=r"000001\.parquet"):
        bronze.file_of(file)

    assert ArchiveFile.objects.get().rows == 1
    export()  # what follows is not held up


def test_a_file_as_it_was_written_is_left_alone(orders: Queue) -> None:
    until_final(record(orders, [1]))
    export()
    file = ArchiveFile.objects.get()
    written = place(file).stat().st_mtime_ns

    assert bronze.file_of(file) == place(file)
    assert place(file).stat().st_mtime_ns == written


def test_an_empty_journal_is_archived_as_nothing(committed: None) -> None:
    export()
    assert not ExportWindow.objects.exists()


def test_two_do_not_archive_at_once(orders: Queue) -> None:
    with (
        held_elsewhere(locks.ARCHIVE),
        pytest.raises(ArchiveBusy, match="Another process"),
    ):
        export()


@pytest.mark.parametrize("password", ["plain", "it's \\ 50% of @:/?#[] é"])
def test_the_address_of_the_database_keeps_every_character(password: str) -> None:
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    before = connection.settings_dict["PASSWORD"]
    connection.settings_dict["PASSWORD"] = password
    try:
        told = conninfo_to_dict(rows.dsn())
    finally:
        connection.settings_dict["PASSWORD"] = before

    assert told["password"] == password
    assert told["dbname"] == connection.settings_dict["NAME"]
