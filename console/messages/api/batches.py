"""Batches of messages as request and response bodies.

The format is defined in ``broker.amqp.messages.batches`` and docs/rest.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from broker.amqp.messages import batches
from broker.amqp.messages.batches import CONTENT_TYPE, MessageBatch
from broker.amqp.messages.compose import message_id
from broker.errors.messages import InvalidBatch
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage
from broker.security import authorities
from console.messages.api.sending import MOST

BYTES = {"schema": {"type": "string", "format": "binary"}}
ASKED = {
    "requestBody": {
        "required": False,
        "description": "A batch of messages; empty if there are none.",
        "content": {CONTENT_TYPE: BYTES},
    }
}
ANSWERED = {"responses": {200: {"content": {CONTENT_TYPE: BYTES}}}}


def read(request: HttpRequest) -> MessageBatch:
    """The batch of a request.

    Raises:
        InvalidBatch: the batch is malformed, or has too many messages.
    """
    batch = batches.opened(request.body)
    if len(batch.parts) > MOST:
        raise InvalidBatch(f"it has more than {MOST:,} messages")
    return batch


def messages_of(request: HttpRequest, batch: MessageBatch) -> list[NewMessage]:
    """The messages of a batch. The caller needs ``put`` on every address. With the
    authority ``passall`` on its address, a message keeps its original context;
    otherwise the caller is its producer.

    Raises:
        NotAuthorized: ``put`` is missing on one of the addresses.
        InvalidMessage: a message is malformed, or names another user.
    """
    user = request.user
    held = authorities.held_by(user)
    addresses = {part.address for part in batch.parts}
    for address in sorted(addresses):
        if not held.on("put", address):
            raise authorities.refusal(user, "put", address)
    as_they_were = {one for one in addresses if held.on("passall", one)}
    producer, name = authorities.name_of(user), user.get_username()
    found = []
    for part in batch.parts:
        is_free = part.address in as_they_were
        message = batches.unpacked(part, None if is_free else name)
        if not (is_free and message.producer):
            message.producer = producer
        found.append(message)
    return found


def answer(deliveries: Sequence[Delivery], head: Mapping[str, Any]) -> HttpResponse:
    """Messages that were got, each with the facts of its delivery."""
    messages = [batches.as_put(one) for one in deliveries]
    told = [about(one) for one in deliveries]
    body = batches.sealed(messages, head, told)
    return HttpResponse(body, content_type=CONTENT_TYPE)


def about(one: Delivery) -> dict[str, Any]:
    said = {"id": one.message_id, "put_at": one.put_at.isoformat()}
    if one.backout_count:
        said["backout_count"] = one.backout_count
    if one.client_message_id is None:
        said["name"] = message_id(one)  # the JMSMessageID that JMS clients would see
    return said
