"""Payment status reports in the style of IBM MQ applications.

Their queue has a backout threshold. Most reports are processed. Those with an
unreadable body go to the backout queue; those with an invalid header go to the dead
letter queue. Their senders get report messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from broker.client import NewMessage
from broker.errors.mq_codes import Format, Report
from broker.formats.mq.folders import Element, Folder
from broker.formats.mq.rfh2 import Rfh2
from broker.models import Address, Queue
from console.demo.messages import Sample, status_report
from console.demo.reading import XML

INTO, BACKED_OUT, REPORTS = "PAYMENTS.IN", "PAYMENTS.BACKOUT", "PAYMENTS.REPORTS"
DEAD = "SYSTEM.DEAD.LETTER.QUEUE"
THRESHOLD = 3
QUEUES: dict[str, dict[str, Any]] = {
    INTO: {"backout_threshold": THRESHOLD, "backout_queue": BACKED_OUT},
    BACKED_OUT: {},
    REPORTS: {},
    DEAD: {},
}


def make_places() -> None:
    """Create missing addresses and queues; leave existing ones unchanged."""
    for name, attributes in QUEUES.items():
        address, _ = Address.objects.get_or_create(name=name)
        values = {"address": address} | attributes
        Queue.objects.get_or_create(name=name, defaults=values)


def payments(turn: int = 0) -> Iterator[NewMessage]:
    """One round: eight valid, one with a bad body, one with an invalid header."""
    first = 1000 * turn
    for n in range(8):
        yield payment(status_report(first + n))
    cut = status_report(first + 8)
    yield payment(replace(cut, name=f"cut-{cut.name}", body=cut.body[:-30]))
    headless = payment(status_report(first + 9))
    assert headless.headers is not None
    yield replace(headless, headers=headless.headers[:30])


def payment(sample: Sample) -> NewMessage:
    """A message with an RFH2 whose sender asks for an exception report."""
    rfh2 = Rfh2(
        encoding=273,
        coded_char_set_id=1208,
        format=Format.STRING,
        folders=(
            Folder.of("mcd", Element("Msd", "jms_text")),
            Folder.of("usr", Element("file", sample.name), Element("hops", 2, "i4")),
        ),
    )
    return NewMessage(
        INTO,
        sample.body,
        content_type=XML,
        properties={"file": sample.name},
        reply_to=REPORTS,
        producer="clearing",
        descriptor={
            "format": Format.RF_HEADER_2.value,
            "report": int(Report.EXCEPTION_WITH_DATA),
            "user_identifier": "clearing",
            "put_appl_name": "clearing",
        },
        headers=rfh2.to_bytes(),
    )
