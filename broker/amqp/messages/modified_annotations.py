"""Annotations of the outcome ``modified``, which the next delivery carries.

Source: AMQP 1.0, part 3, section 3.4.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from broker.amqp.messages.death_annotations import OURS
from broker.amqp.messages.delivery_annotations import is_wish
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Symbol
from broker.queueing.get import Delivery
from broker.settlement.annotations import annotations_of
from broker.settlement.outcomes import Annotations

Annotated = Mapping[Symbol, Any]


def storable_annotations(said: Mapping[Any, Any]) -> Annotations:
    """The annotations to store: not those on which only the broker acts, as a delay,
    and not IBM MQ's, by which a consumer could forge a sender."""
    return tuple(
        (str(name), encode(value))
        for name, value in said.items()
        if isinstance(name, str) and "\0" not in name and not is_wish(name)
    )


def added_to(deliveries: Sequence[Delivery]) -> dict[int, Annotated]:
    """The annotations of deliveries that have any, by message. Those that are neither
    redelivered nor copies have none, and are not looked up."""
    asked = [one for one in deliveries if one.delivery_count != 1 or is_copy(one)]
    if not asked:
        return {}
    found = annotations_of(asked[0].queue_id, [one.message_id for one in asked])
    return {
        message_id: {Symbol(name): decode(value)[0] for name, value in said}
        for message_id, said in found.items()
    }


def is_copy(delivery: Delivery) -> bool:
    """Whether the broker may have made this message; all its copies have properties of
    its own, or a descriptor."""
    return bool(delivery.descriptor) or not OURS.isdisjoint(delivery.properties)
