"""Fields of messages in the archive: as they were, once, cut, masked; never a body."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from operator import itemgetter
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.db import connection

from broker.models import RedactionRule
from broker.models.queues import RoutingType
from broker.queueing.put import NewMessage, put_many
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import bronze, compaction
from dashboards.pipeline.fields.event_fields import Puts
from dashboards.pipeline.fields.properties import LONGEST, MOST
from dashboards.pipeline.manifest import BRONZE, MESSAGES, current
from dashboards.reports.field_significance import CUT
from tests.broker.dying import back_out
from tests.dashboards.files import place, root
from tests.dashboards.histories import last_xid
from tests.dashboards.journal import until_final
from tests.make import NOON, make_messages, make_queue, make_redaction, make_setting

DAY = timedelta(days=1)
HOSTILE = "h.x\" *,..-é'<script>\u202e\\ \n"


@pytest.fixture(autouse=True)
def _orders(committed: None) -> None:
    make_queue("orders")


def export() -> None:
    until_final(last_xid())
    bronze.export(lambda _: None)


def archived() -> list[dict[str, Any]]:
    files = [place(file) for file in current(MESSAGES).order_by("day", "lo")]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    for row in rows:
        for name in ("properties", "numbers"):
            row[name] = row[name] and dict(row[name])
    return sorted(rows, key=itemgetter("message_id"))


def put(**fields: Any) -> int:
    (receipt,) = put_many([NewMessage("orders", **fields)], now=NOON)
    return receipt.message_id


def said(**properties: Any) -> dict[str, Any]:
    put(properties=properties)
    export()
    (row,) = archived()
    return dict(row["properties"])


def do(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_what_is_said_of_a_message_and_by_it_is_archived() -> None:
    message_id = put(
        body=b"its secret body",
        content_type="text/plain",
        properties={"tenant": "t7", "n": 7, "x": -1.50, "vip": True, "of": [1, {}]},
        priority=6,
        durable=False,
        reply_to="answers",
        subject="order",
        group_id="g",
        producer="shop",
    )

    export()

    assert archived() == [
        {
            "message_id": message_id,
            "at": NOON,
            "priority": 6,
            "durable": False,
            "subject": "order",
            "content_type": "text/plain",
            "producer": "shop",
            "group_id": "g",
            "reply_to": "answers",
            "size": 15,
            "report": None,
            "feedback": None,
            "properties": {"n": "7", "x": "-1.5", "vip": "true", "tenant": "t7"},
            "numbers": {"n": 7.0, "x": -1.5},
        }
    ]
    (file,) = current(MESSAGES)
    assert file.path == "messages/2026-03-14/000001.parquet"
    assert b"secret" not in place(file).read_bytes()
    assert ExportWindow.objects.get().rows == current(BRONZE).get().rows


@pytest.mark.long
def test_a_message_is_one_row_however_many_queues_it_came_to() -> None:
    for name in ("one", "two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    put_many(make_messages(3, "news"), now=NOON)
    export()
    assert len(archived()) == 3
    export()
    assert len(archived()) == 3


@pytest.mark.long
def test_only_what_is_put_is_archived() -> None:
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    put(properties={"tenant": "t7"})
    back_out(at=1)
    back_out(at=2)

    export()

    letter = archived()[1]  # a copy is put, too, with what it says
    assert len(archived()) == 2
    assert letter["properties"]["tenant"] == "t7"


@pytest.mark.long
def test_what_is_gone_is_a_row_of_nothing_else() -> None:
    gone, left = put(subject="a"), put(subject="b")
    do(f"DELETE FROM broker_message WHERE id = {gone}")

    export()

    first, second = archived()
    assert (first.pop("message_id"), first.pop("at")) == (gone, NOON)
    assert set(first.values()) == {None}
    assert (second["message_id"], second["subject"]) == (left, "b")


def dies_before_the_files(_: ExportWindow) -> None:
    pass


def dies_within_the_file(_: ExportWindow) -> None:
    folder = root() / MESSAGES / "2026-03-14"
    folder.mkdir(parents=True)
    (folder / "000001.draft").write_bytes(b"PAR1 and then the power went")


def dies_between_the_tables(window: ExportWindow) -> None:
    bronze.copy_events(window, Puts())


def dies_before_they_are_listed(window: ExportWindow) -> None:
    bronze.copy(window)


@pytest.mark.parametrize(
    "dies",
    [
        pytest.param(dies_before_the_files, marks=pytest.mark.long),
        pytest.param(dies_within_the_file, marks=pytest.mark.long),
        dies_between_the_tables,
        pytest.param(dies_before_they_are_listed, marks=pytest.mark.long),
    ],
)
def test_who_dies_halfway_is_repeated_exactly(
    dies: Callable[[ExportWindow], None],
) -> None:
    first = put()
    until_final(last_xid())
    dies(bronze.open_window(last_xid(), last_xid() + 1))
    second = put()

    export()

    assert [row["message_id"] for row in archived()] == [first, second]
    assert current(MESSAGES).count() == current(BRONZE).count() == 2
    assert not list(root().glob("*/*/*.draft"))


@pytest.mark.long
def test_a_lost_file_is_copied_again_as_it_was() -> None:
    put(properties={"tenant": "t7"})
    export()
    before, (file,) = archived(), current(MESSAGES)
    place(file).unlink()

    assert bronze.is_there(file)

    assert archived() == before
    assert current(MESSAGES).get().checksum == file.checksum


@pytest.mark.long
def test_of_a_lost_file_whose_messages_are_gone_only_their_ids_come_back() -> None:
    put(properties={"tenant": "t7"})
    export()
    (file,) = current(MESSAGES)
    place(file).write_bytes(b"moths")
    do("DELETE FROM broker_message")

    assert bronze.is_there(file)

    assert [row["priority"] for row in archived()] == [None]


def test_a_file_that_is_lost_for_good_is_listed_no_more() -> None:
    put()
    export()
    (file,) = current(MESSAGES)
    place(file).unlink()
    do("TRUNCATE broker_event")

    assert not bronze.is_there(file)

    assert archived() == []
    assert current(BRONZE).count() == 1
    compaction.keep_small(NOON + DAY, keep_days=400)  # no fault


def test_files_of_a_day_become_one_and_go_when_they_are_old() -> None:
    ids = []
    for _ in range(3):
        ids.append(put())
        export()
    lost = current(MESSAGES).last()
    assert lost
    place(lost).unlink()

    compaction.keep_small(NOON + DAY, keep_days=400)

    assert [row["message_id"] for row in archived()] == ids
    (file,) = current(MESSAGES)
    assert (file.path, file.rows) == ("messages/2026-03-14/through-000003.parquet", 3)
    place(file).unlink()
    assert bronze.is_there(file)
    assert [row["message_id"] for row in archived()] == ids, "copied again, as a whole"

    compaction.keep_small(NOON + 9 * DAY, keep_days=7)
    assert not ArchiveFile.objects.filter(replaced_at__isnull=True).exists()


@pytest.mark.long
def test_long_texts_and_many_properties_are_cut() -> None:
    fine, long = "é" * LONGEST, "é" * (LONGEST + 1)
    put(
        subject=long,
        producer=fine,
        properties={"fine": fine, "long": long, long: 1, "": 2}
        | {f"p{n:03}": n for n in range(MOST)},
    )
    export()

    (row,) = archived()
    cut = "é" * (LONGEST - 1) + CUT
    assert (row["subject"], row["producer"]) == (cut, fine)
    assert len(row["properties"]) == MOST
    assert (row["properties"]["fine"], row["properties"]["long"]) == (fine, cut)
    assert not {long, ""} & row["properties"].keys()


@pytest.mark.long
def test_hostile_properties_are_kept_as_they_are() -> None:
    huge = 10**400
    found = said(**{HOSTILE: HOSTILE, "a": huge, "b": 1e-30, "c": "", "d": None})
    (row,) = archived()
    assert found.pop("a").startswith("1000")
    assert found == {HOSTILE: HOSTILE, "b": row["properties"]["b"], "c": ""}
    assert row["numbers"] == {"b": 1e-30}


Kind = RedactionRule.Kind
CARD = "4111-1111"


@pytest.mark.parametrize(
    "queues", ["orders", pytest.param("elsewhere", marks=pytest.mark.long)]
)
def test_what_a_rule_masks_is_not_archived_in_clear(queues: str) -> None:
    make_redaction(kind=Kind.PROPERTY, target="patient_*", name="P", queues=queues)
    make_redaction(kind=Kind.PATTERN, target=r"\d{4}-\d{4}", name="C", queues=queues)
    make_redaction(kind=Kind.PATTERN, target="^555$", name="N", queues=queues)
    late = "x" * (LONGEST - 4) + CARD  # half of it would be left by the cut

    found = said(Patient_Name="Ann", note=f"card {CARD}", late=late, n=555, m=556)

    (row,) = archived()
    assert found == {
        "Patient_Name": "••• masked by rule P",
        "note": "card ••• masked by rule C",
        "late": "x" * (LONGEST - 4) + "•••" + CUT,
        "n": "••• masked by rule N",
        "m": "556",
    }
    assert row["numbers"] == {"m": 556.0}
    content = place(current(MESSAGES).get()).read_bytes()
    assert not [word for word in (b"Ann", b"4111", b"555\0") if word in content]


@pytest.mark.long
def test_a_rule_that_is_switched_off_masks_nothing() -> None:
    make_redaction("P", Kind.PROPERTY, "tenant")
    RedactionRule.objects.update(is_active=False)
    assert said(tenant="t7") == {"tenant": "t7"}
