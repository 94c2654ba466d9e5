"""A message with all that a report on it could take over."""

from __future__ import annotations

from typing import Any

from broker.formats.mq.rfh2 import Rfh2
from broker.queueing.get import Delivery
from tests.make import NOON, minutes

MSG_ID, CORREL_ID = "1d" * 24, "c0" * 24
RFH2 = Rfh2(encoding=273, coded_char_set_id=819, format="MQSTR").to_bytes(546)
BODY = bytes(range(250))


def original(report: int = 0, **more: Any) -> Delivery:
    """A message with all that a report could take over from it."""
    descriptor = {
        "report": int(report),
        "msg_id": MSG_ID,
        "correl_id": CORREL_ID,
        "format": "MQHRF2",
        "encoding": 546,
        "msg_type": 1,
        "feedback": 77,
        "user_identifier": "omar",
        "put_appl_name": "shop",
        "group_id": "9a" * 24,
    }
    usual: dict[str, Any] = {
        "uow": 1,
        "queue_id": 1,
        "message_id": 17,
        "backout_count": 3,
        "delivery_count": 4,
        "priority": 7,
        "address": "orders",
        "body": BODY,
        "content_type": "text/plain",
        "properties": {"size": 3},
        "client_message_id": f"ID:{MSG_ID}",
        "correlation_id": f"ID:{CORREL_ID}",
        "reply_to": "answers",
        "subject": "an order",
        "group_id": "g",
        "producer": "shop",
        "put_at": NOON,
        "expires_at": NOON + minutes(5),
        "pos": 17,
        "durable": True,
        "descriptor": descriptor | more.pop("descriptor", {}),
        "headers": Rfh2(encoding=273, coded_char_set_id=819, format="MQSTR").to_bytes(
            546
        ),
    }
    return Delivery(**usual | more)
