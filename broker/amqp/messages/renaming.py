"""Change the message id in a stored envelope; all other bytes stay."""

from __future__ import annotations

from broker.amqp.messages.apply_edit import cut
from broker.amqp.messages.envelope import opened, sealed
from broker.amqp.messages.splice import PROPERTIES, with_fields
from broker.amqp.protocol import sections
from broker.queueing.store import REPAIRED

MESSAGE_ID = 0  # position among the properties
ORDER = (sections.ANNOTATIONS, PROPERTIES, sections.APPLICATION_PROPERTIES)


def renamed(stored: bytes, message_id: str) -> bytes:
    """The envelope with a new message id."""
    kept = opened(stored)
    found, beginning = cut(kept.before)
    found[PROPERTIES] = with_fields(
        found.get(PROPERTIES, b""), {MESSAGE_ID: message_id}
    )
    before = [found.get(code, b"") for code in ORDER]
    anew = sealed([*before, beginning], kept.after, kept.expires_ms)
    return bytes([anew[0] | (stored[0] & REPAIRED)]) + anew[1:]
