"""Batches of messages as bodies of the API: exact, and in one piece.

What they are made of says ``broker.amqp.messages.batches``, and docs/rest.md.
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
from console.api.messages.sending import MOST

BYTES = {"schema": {"type": "string", "format": "binary"}}
ASKED = {
    "requestBody": {
        "required": False,
        "description": "A batch of messages; nothing, where there are none.",
        "content": {CONTENT_TYPE: BYTES},
    }
}
ANSWERED = {"responses": {200: {"content": {CONTENT_TYPE: BYTES}}}}


def read(request: HttpRequest) -> MessageBatch:
    """The batch of a request.

    Raises:
        InvalidBatch: it is none, or too many.
    """
    batch = batches.opened(request.body)
    if len(batch.parts) > MOST:
        raise InvalidBatch(f"it has more than {MOST:,} messages")
    return batch


def messages_of(request: HttpRequest, batch: MessageBatch) -> list[NewMessage]:
    """The messages of a batch, as whoever asks may put them. With the authority
    ``passall`` they are as they were sent; or else whoever asks is their producer.

    Raises:
        NotAuthorized: to one of the addresses they may not put.
        InvalidMessage: one is none, or says that it is somebody else's.
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
    """Messages that somebody got, each with what is told of its delivery."""
    messages = [batches.as_put(one) for one in deliveries]
    told = [about(one) for one in deliveries]
    body = batches.sealed(messages, head, told)
    return HttpResponse(body, content_type=CONTENT_TYPE)


def about(one: Delivery) -> dict[str, Any]:
    said = {"id": one.message_id, "put_at": one.put_at.isoformat()}
    if one.backout_count:
        said["backout_count"] = one.backout_count
    if one.client_message_id is None:
        said["name"] = message_id(one)  # as JMSMessageID
    return said
