"""The headers of JMS that are fields of AMQP's properties section, for selectors.

Source:
    AMQP JMS Mapping, section 3.2.1, "Mapping of JMS headers" and 3.2.2, "JMSX".
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.amqp.messages.envelope import sent_properties
from broker.formats.selectors.documents import ENVELOPES


def selectable_fields(envelope: bytes) -> Mapping[str, object]:
    """The values that the sender gave, by the names in selectors."""
    said = sent_properties(envelope)
    user = said.user_id
    found = {
        "JMSTimestamp": said.creation_time,
        "JMSXGroupSeq": said.group_sequence,
        "JMSXUserID": None if user is None else user.decode(errors="replace"),
        "JMS_AMQP_REPLY_TO_GROUP_ID": said.reply_to_group_id,
    }
    return {name: value for name, value in found.items() if value is not None}


ENVELOPES.every.append(selectable_fields)
