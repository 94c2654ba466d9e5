"""The descriptor's fields as properties of JMS, as IBM MQ classes for JMS name them.

Source:
    IBM MQ documentation, "Provider specific properties" (``JMS_IBM_…``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.errors.mq_codes import MsgFlags, Report
from broker.formats.mq.describing import ibm_name
from broker.formats.mq.descriptor import NAMES as FIELDS

JMS = "JMS_IBM_"
# Properties for report options, and the bits that each may have.
REPORTS: Mapping[str, Report] = {
    f"{JMS}Report_Exception": Report.EXCEPTION_WITH_FULL_DATA,
    f"{JMS}Report_Expiration": Report.EXPIRATION_WITH_FULL_DATA,
    f"{JMS}Report_COA": Report.COA_WITH_FULL_DATA,
    f"{JMS}Report_COD": Report.COD_WITH_FULL_DATA,
    f"{JMS}Report_PAN": Report.PAN,
    f"{JMS}Report_NAN": Report.NAN,
    f"{JMS}Report_Pass_Msg_ID": Report.PASS_MSG_ID,
    f"{JMS}Report_Pass_Correl_ID": Report.PASS_CORREL_ID,
    f"{JMS}Report_Discard_Msg": Report.DISCARD_MSG,
}
LAST_IN_GROUP = f"{JMS}Last_Msg_In_Group"
PLAIN: Mapping[str, str] = {
    f"{JMS}MsgType": "msg_type",
    f"{JMS}Feedback": "feedback",
    f"{JMS}Format": "format",
    f"{JMS}Encoding": "encoding",
    f"{JMS}Character_Set": "coded_char_set_id",
}
MQMD: Mapping[str, str] = {f"{JMS}MQMD_{ibm_name(field)}": field for field in FIELDS}
# Properties that a receiver sees only.
RECEIVED: Mapping[str, str] = {
    f"{JMS}PutApplType": "put_appl_type",
    f"{JMS}System_MessageID": "msg_id",
}
NAMES = (*REPORTS, LAST_IN_GROUP, *PLAIN, *MQMD, *RECEIVED)


def values_of(fields: Mapping[str, Any]) -> dict[str, object]:
    """The properties for the fields that are given; bytes as hexadecimal digits."""
    found: dict[str, object] = {
        name: value.hex() if isinstance(value, bytes) else value
        for names in (PLAIN, MQMD, RECEIVED)
        for name, field in names.items()
        if (value := fields.get(field)) is not None
    }
    report = fields.get("report", 0)
    found |= {name: bits for name, mask in REPORTS.items() if (bits := report & mask)}
    if fields.get("msg_flags", 0) & MsgFlags.LAST_MSG_IN_GROUP:
        found[LAST_IN_GROUP] = True
    return found
