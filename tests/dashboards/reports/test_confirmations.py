"""Confirmations of arrival and delivery, of a real journal, and of an older archive."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command

from broker.errors.mq_codes import Report
from broker.models import Queue
from broker.queueing.put import put_many
from broker.transactions.scope import unit_of_work
from dashboards.models import ArchiveFile, PublishedDay, ReportRow
from dashboards.pipeline import archive
from tests.dashboards.files import place
from tests.dashboards.histories import last_xid
from tests.dashboards.journal import until_final
from tests.make import NOON, make_messages, make_queue, minutes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.thorough]
BOTH = {"report": int(Report.COA | Report.COD_WITH_DATA)}
COUNTS = "coa_asked", "coa_sent", "cod_asked", "cod_due", "cod_sent", "outstanding"


def run() -> dict[str, tuple[int, ...]]:
    until_final(last_xid())
    call_command("run_report", "confirmations", stdout=StringIO())
    rows = [row.cells for row in ReportRow.objects.filter(report="confirmations")]
    return {row["queue"]: tuple(row[one] for one in COUNTS) for row in rows}


def test_what_was_asked_and_sent_is_counted_on_both_queues(orders: Queue) -> None:
    make_queue("replies")
    asking = make_messages(3, descriptor=BOTH, reply_to="replies")
    put_many([*asking, *make_messages(2)], now=NOON)
    with unit_of_work(now=NOON + minutes(1)) as work:
        work.get("orders", 2)

    assert run() == {
        "orders": (3, 0, 3, 2, 0, 1),
        "replies": (0, 3, 0, 0, 2, 0),
    }
    [row] = ReportRow.objects.filter(cells__queue="orders")
    assert row.cells["oldest"] == 12 * 3600


def test_of_an_older_archive_nothing_is_known(
    orders: Queue, spark: SparkSession
) -> None:
    put_many(make_messages(2, descriptor=BOTH, reply_to="orders"), now=NOON)
    run()
    file = ArchiveFile.objects.get(table="messages")
    pq.write_table(
        pq.read_table(place(file)).drop_columns(["report", "feedback"]), place(file)
    )
    checksum = archive.checksum(place(file))
    ArchiveFile.objects.filter(pk=file.pk).update(version=1, checksum=checksum)
    PublishedDay.objects.filter(table="gold/confirmations").delete()

    assert run() == {}
