"""Each header that a selector may name is the message's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.conf import settings

from broker.amqp.protocol.types.types import Int, Timestamp, UInt, ULong
from broker.errors.mq_codes import MsgFlags, Report
from broker.formats.mq import jms_properties
from broker.formats.mq.descriptor import own_id
from broker.formats.selectors import document, parse
from broker.formats.selectors.building import HEADERS, OF_ARTEMIS
from broker.formats.selectors.documents import ONLY_IN_PYTHON, milliseconds
from broker.models import Queue
from broker.queueing.put import NewMessage, put, put_many
from broker.queueing.selective_get import browse
from broker.transactions.scope import UnitOfWork
from tests.amqp.written import NOON_MS, application, came, data, properties
from tests.broker.searching import orders
from tests.make import NOON

__all__ = ["orders"]  # a fixture

pytestmark = pytest.mark.usefixtures("transactional_db")

LATER = NOON.replace(year=2126)
LATER_MS = f"{milliseconds(LATER)}"
DESCRIPTOR: dict[str, Any] = {
    "report": int(Report.PAN | Report.PASS_MSG_ID),
    "msg_type": 8,
    "feedback": 260,
    "encoding": 546,
    "coded_char_set_id": 500,
    "format": "MQSTR",
    "msg_id": "41" * 24,
    "correl_id": "42" * 24,
    "reply_to_q_mgr": "QM2",
    "user_identifier": "alice",
    "accounting_token": "05" * 32,
    "appl_identity_data": "who",
    "put_appl_type": 28,
    "put_appl_name": "till",
    "appl_origin_data": "here",
    "group_id": "43" * 24,
    "msg_seq_number": 3,
    "offset": 0,
    "msg_flags": int(MsgFlags.LAST_MSG_IN_GROUP | MsgFlags.MSG_IN_GROUP),
    "original_length": 17,
}
PLAIN = NewMessage(
    "orders",
    properties={"JMSXState": 2, "JMS_TIBCO_X": "y", "JMSPriority": 1},
    priority=7,
    durable=False,
    message_id="ID:1",
    correlation_id="c",
    subject="car",
    group_id="g",
    expires_at=LATER,
    descriptor=DESCRIPTOR,
    reply_to="answers",
)
OF_PLAIN = {
    "JMSDeliveryMode": "'NON_PERSISTENT'",
    "JMSPriority": "7",
    "JMSMessageID": "'ID:1'",
    "JMSTimestamp": f"{NOON_MS}",
    "JMSCorrelationID": "'c'",
    "JMSType": "'car'",
    "JMSExpiration": LATER_MS,
    "JMSRedelivered": "FALSE",
    "JMSXGroupID": "'g'",
    "JMSXGroupSeq": "3",
    "JMSXUserID": "'alice'",
    "JMSXAppID": "'till'",
    "JMSXDeliveryCount": "1",
    "JMSXState": "2",
    "JMS_TIBCO_X": "'y'",
    "AMQAddress": "'orders'",
    "AMQDurable": "'NON_DURABLE'",
    "AMQPriority": "7",
    "AMQTimestamp": f"{NOON_MS}",
    "AMQExpiration": LATER_MS,
    "AMQUserID": "'ID:1'",
    "AMQGroupID": "'g'",
    "JMS_IBM_MsgType": "8",
    "JMS_IBM_Feedback": "260",
    "JMS_IBM_Format": "'MQSTR'",
    "JMS_IBM_Encoding": "546",
    "JMS_IBM_Character_Set": "500",
    "JMS_IBM_PutApplType": "28",
    "JMS_IBM_System_MessageID": f"'{'41' * 24}'",
    "JMS_IBM_Last_Msg_In_Group": "TRUE",
    "JMS_IBM_Report_PAN": "1",
    "JMS_IBM_Report_Pass_Msg_ID": "128",
    "JMS_IBM_MQMD_PutApplName": "'till'",
    "JMS_IBM_MQMD_MsgSeqNumber": "3",
    "JMS_IBM_MQMD_CorrelId": f"'{'42' * 24}'",
}
# What AMQP's sections have, of which no column is made.
OF_AMQP = {
    "JMSTimestamp": "1234567890123",
    "JMSXGroupSeq": "4000000000",
    "JMSXUserID": "'shop'",
    "JMS_AMQP_REPLY_TO_GROUP_ID": "'g2'",
    "JMSMessageID": "'m-1'",
    "JMSXGroupID": "'g1'",
    "JMSXAppID": "'of the sender'",
    "AMQTimestamp": "1234567890123",
    '"content-type"': "'own'",
    "big": "18446744073709551615",
}
FROM_AMQP = (
    properties(
        message_id="m-1",
        user_id=b"shop",
        creation_time=Timestamp(1_234_567_890_123),
        group_id="g1",
        group_sequence=UInt(4_000_000_000),
        reply_to_group_id="g2",
    )
    + application(
        {
            "JMSXGroupSeq": Int(1),
            "JMSXAppID": "of the sender",
            "content-type": "own",
            "big": ULong(2**64 - 1),
        }
    )
    + data()
)


def test_the_walk_knows_every_header() -> None:
    alike = {name for name in jms_properties.NAMES if "MQMD_" in name}
    alike |= set(jms_properties.REPORTS)

    assert (HEADERS | set(OF_ARTEMIS) | ONLY_IN_PYTHON) - alike <= {*OF_PLAIN, *OF_AMQP}


@pytest.mark.parametrize(
    ("sent", "values"),
    [(PLAIN, OF_PLAIN), (came(FROM_AMQP), OF_AMQP)],
    ids=["without AMQP", "by AMQP"],
)
def test_each_header_is_the_messages_own_however_a_selector_is_decided(
    orders: Queue, sent: NewMessage, values: Mapping[str, str]
) -> None:
    put_many([sent], now=NOON)
    selectors = [f"{name} = {value}" for name, value in values.items()]
    in_python = [f"{one} AND 2 / 1 = 2" for one in selectors]
    others = [f"{name} <> {value}" for name, value in values.items()]

    matched = [one for one in selectors + in_python if is_found(one)]

    assert matched == selectors + in_python
    assert not any(map(is_found, others))
    (delivery,) = UnitOfWork().get("orders")
    decided = [parse(one).matches(document(delivery)) for one in selectors]
    assert decided == [True] * len(selectors)


def is_found(selector: str) -> bool:
    return len(browse("orders", parse(selector), now=NOON).entries) == 1


def test_a_message_without_an_id_is_found_by_the_id_that_it_is_given_out_with(
    orders: Queue,
) -> None:
    put("orders")
    (delivery,) = UnitOfWork().get("orders")
    name = f"ID:{own_id(delivery, settings.BROKER_NAME).hex()}"

    assert document(delivery)["JMSMessageID"] == name
    put("orders")
    following = f"{name[:-16]}{delivery.message_id + 1:016x}"
    assert is_found(f"JMSMessageID = '{following}'")


def test_a_new_message_has_the_time_of_now_for_the_selectors_of_queues(
    orders: Queue,
) -> None:
    values = document(NewMessage("orders"))

    assert parse(f"JMSTimestamp > {NOON_MS}").matches(values)
    assert parse("JMSMessageID IS NULL").matches(values)


def test_a_selector_tells_which_names_it_reads() -> None:
    text = "\"card-no\" = 'x' AND NOT (a + b > 1 OR c LIKE 'd' OR f IN ('g')) AND h"

    assert parse(text).names == {"card-no", "a", "b", "c", "f", "h"}
