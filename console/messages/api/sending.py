"""Putting messages on addresses."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.models import Queue
from broker.queueing import tracing
from broker.queueing.put import NewMessage, put_many
from broker.security import authorities
from broker.sql import database_now
from console.edges.rest.problems import REFUSED
from console.edges.rest.requests import RequestBody
from console.messages.api.bodies import MessageToPut, new_message

router = Router(tags=["messages"])

MOST = 1000  # messages of one request


class MessagesToSend(RequestBody):
    """Messages that are stored together, all or none."""

    messages: list[MessageToPut] = Field(min_length=1, max_length=MOST)


class Receipt(Schema):
    """The result of one put."""

    message_id: int  # the broker's number of the message
    queues: list[str]  # queues that stored the message; empty: the message was dropped


class Receipts(Schema):
    """The result of each put, in the order of the messages."""

    receipts: list[Receipt]


@router.post(
    "/addresses/{queue:address}/messages",
    response={200: Receipt, **REFUSED},
    summary="Put a message",
)
def put_message(
    request: HttpRequest, address: Path[str], message: MessageToPut
) -> dict[str, Any]:
    """Puts a message to an address; needs the authority ``put``. The response is sent
    after the message is stored.
    """
    authorities.require(request.user, "put", address)
    (receipt,) = stored(request, built(request, address, [message], ["message"]))
    return receipt


@router.post(
    "/addresses/{queue:address}/messages/batch",
    response={200: Receipts, **REFUSED},
    summary="Put messages",
)
def put_messages(
    request: HttpRequest, address: Path[str], batch: MessagesToSend
) -> dict[str, Any]:
    """Puts several messages to an address: all are stored in this order, or none. Needs
    the authority ``put``.
    """
    authorities.require(request.user, "put", address)
    where = ["batch", "messages"]
    return {"receipts": stored(request, built(request, address, batch.messages, where))}


def built(
    request: HttpRequest, address: str, messages: list[MessageToPut], where: list[Any]
) -> list[NewMessage]:
    """The messages as the broker stores them, with the caller as producer.

    Raises:
        ValidationError: one of them is not consistent.
    """
    now, producer = database_now(), authorities.name_of(request.user)
    return [
        new_message(one, address, now, producer, [*where, number])
        for number, one in enumerate(messages)
    ]


def stored(request: HttpRequest, messages: list[NewMessage]) -> list[dict[str, Any]]:
    """The response for messages that were put."""
    with tracing.within({name.lower(): one for name, one in request.headers.items()}):
        receipts = put_many(messages, actor=authorities.name_of(request.user))
    taken = {queue_id for one in receipts for queue_id in one.queue_ids}
    names = dict(Queue.objects.filter(pk__in=taken).values_list("pk", "name"))
    return [
        {
            "message_id": one.message_id,
            "queues": sorted(names.get(pk, "") for pk in one.queue_ids),
        }
        for one in receipts
    ]
