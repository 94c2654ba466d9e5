"""Changes that the broker makes to a stored AMQP message when sending it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from broker.amqp.messages import death_annotations, mq_descriptor
from broker.amqp.messages.apply_edit import repaired
from broker.amqp.messages.compose import LAST_MS, message_id, timestamp
from broker.amqp.messages.documents import document
from broker.amqp.messages.envelope import Envelope
from broker.amqp.messages.splice import (
    ANNOTATIONS,
    APPLICATION_PROPERTIES,
    with_fields,
    with_null,
    with_pairs,
)
from broker.amqp.protocol.sections import Sections, map_of, properties_of, split
from broker.amqp.protocol.types.types import Symbol, Timestamp
from broker.queueing.get import Delivery

MESSAGE_ID, EXPIRY = 0, 8  # positions among the properties
# Annotation with the end of a message's lock. This broker's locks have no end, so the
# last possible time is sent: Azure's clients would renew a lock that ends earlier.
LOCKED_UNTIL = Symbol("x-opt-locked-until")
FOREVER = Timestamp(LAST_MS)


def rewritten(
    delivery: Delivery,
    kept: Envelope,
    annotations: Mapping[Symbol, Any],
    *,
    as_azure: bool,
) -> bytes:
    """Encode all sections but the header.

    Annotations of earlier consumers are added, but do not replace the broker's own. IBM
    MQ's fields become annotations. A dead letter gets properties and annotations
    that tell its origin. An expiry time that is no longer valid, as that of a dead
    letter, is removed from the properties: clients would drop the message for it. A
    client of Azure Service Bus gets the end of the lock, and a message id if there is
    none.
    """
    sections = sections_of(delivery, kept)
    copied = is_copy(delivery, sections)
    added = {**annotations, **added_annotations(delivery, is_copy=copied)}
    properties, application = sections.properties, sections.application_properties
    if kept.expires_ms not in (None, milliseconds(delivery.expires_at)):
        was = properties_of(properties).absolute_expiry_time
        added[death_annotations.ORIGINAL_EXPIRY] = Timestamp(was or 0)
        properties = with_null(properties, EXPIRY)
    if as_azure:
        added[LOCKED_UNTIL] = FOREVER
        if delivery.client_message_id is None:
            properties = with_fields(properties, {MESSAGE_ID: message_id(delivery)})
    if copied:
        ours = death_annotations.written_by_us(delivery.properties)
        application = with_pairs(
            APPLICATION_PROPERTIES, application, ours, death_annotations.OURS
        )
    annotated = sections.annotations
    if added:
        annotated = with_pairs(ANNOTATIONS, annotated, added)
    return b"".join(
        (annotated, properties, application, sections.body, sections.footer)
    )


def sections_of(delivery: Delivery, kept: Envelope) -> Sections:
    """The sections as they were sent; for a repaired message, with its changes."""
    if kept.is_repaired:
        return repaired(delivery, kept)
    return split(b"".join((kept.before, delivery.body, kept.after)))


def is_copy(delivery: Delivery, sections: Sections) -> bool:
    """Whether the broker made this copy, and so wrote properties. A sender's own
    properties may have the same names."""
    found = sections.application_properties
    sent = document(map_of(found)) if found else {}
    return any(
        delivery.properties.get(name) != sent.get(name)
        for name in death_annotations.OURS
    )


def added_annotations(delivery: Delivery, *, is_copy: bool) -> dict[Symbol, Any]:
    """Annotations to add, for data that is in the message's columns."""
    added = mq_descriptor.annotations_of(delivery)
    return (
        added | death_annotations.annotations_of(delivery.properties)
        if is_copy
        else added
    )


def milliseconds(expires_at: datetime | None) -> int:
    """An expiry time in milliseconds, as the envelope stores it; 0 means never."""
    return 0 if expires_at is None else timestamp(expires_at)
