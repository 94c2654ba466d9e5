"""Confirmations on delivery (COD): reports in the transaction of an acceptance.

A message says in its descriptor that it wants one, and each get reads the descriptor
anyway. So whoever accepts knows already whether there is anything to send.

Source:
    IBM MQ, "Report (MQLONG)": the report is in the unit of work of the get.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime

from broker.errors.mq_codes import Feedback, Report
from broker.formats.mq.report_options import asks_for
from broker.queueing.get import Delivery
from broker.queueing.report_messages import send_all

Place = tuple[int, int]  # a queue, and a message that was got from it


def places_of(deliveries: Iterable[Delivery]) -> set[Place]:
    """The deliveries whose acceptance is to be confirmed."""
    return {
        (one.queue_id, one.message_id)
        for one in deliveries
        if one.descriptor and asks_for(Report.COD, one)
    }


def confirm(
    places: AbstractSet[Place],
    *,
    uow: int | None,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Send the reports that accepted messages ask for, in the open transaction."""
    asked = [(message_id, queue_id) for queue_id, message_id in sorted(places)]
    send_all(Feedback.COD, asked, uow=uow, actor=actor, now=now)
