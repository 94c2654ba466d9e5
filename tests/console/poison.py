"""Makes messages that consumers move away or discard, by IBM MQ's rules."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from broker.errors.mq_codes import Format, Reason
from broker.formats.mq.folders import Element, Folder
from broker.formats.mq.rfh2 import Rfh2
from broker.models import Queue
from broker.queueing.put import put
from broker.settlement.poison import Last, Removing
from broker.transactions.scope import unit_of_work
from tests.console.letters import attempt
from tests.make import NOON, make_queue, minutes

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
BACKOUTS = 3
LATER = NOON + minutes(4)  # than the last of them


def make_payments(backout_queue: str = "payments.BOQ") -> Queue:
    """``payments``, whose consumers move a message away that came back three times."""
    make_queue(DEAD_LETTERS)
    if backout_queue:
        make_queue(backout_queue)
    return make_queue(
        "payments", backout_threshold=BACKOUTS, backout_queue=backout_queue
    )


def poison(now: datetime = NOON, **fields: Any) -> int:
    """A message that comes back until the next get would move it; its number."""
    body = fields.pop("body", b"{}")
    message_id = put("payments", body, now=now, **fields).message_id
    for number in range(1, BACKOUTS + 1):
        at = now + minutes(number)
        assert attempt("ValueError: row 7 is bad", queue="payments", now=at)
    return message_id


def remove(
    backout_queue: str = "payments.BOQ",
    *,
    why: Reason | None = None,
    last: Last = Last.DISCARD,
    now: datetime = LATER,
) -> None:
    """A consumer meets the next message, and will not have it."""
    with unit_of_work(actor="bank.handle", now=now) as work:
        (delivery,) = work.get("payments")
        work.remove_now(Removing(delivery, backout_queue, why), last=last)


def rfh2(*folders: Folder) -> dict[str, Any]:
    """Fields of a message that has such a header."""
    header = Rfh2(
        encoding=273, coded_char_set_id=1208, format=Format.STRING, folders=folders
    )
    return {
        "descriptor": {"format": Format.RF_HEADER_2.value},
        "headers": header.to_bytes(),
        "content_type": "text/plain",
    }


def usr(**values: str) -> Folder:
    return Folder.of("usr", *(Element(name, value) for name, value in values.items()))
