"""Get messages in a unit of work that stays open between requests, and settle them.

A get returns messages and the token of a *settlement*, by which the client decides each
delivery. Until then no other consumer gets the messages. The settlement is limited by a
lease: deliveries not settled when it ends are backed out and counted. Any web process
accepts the settlement, also after a restart of all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

from django.core import signing
from django.db import connection
from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.models import Queue
from broker.queueing import notifications
from broker.security import authorities, redaction
from broker.settlement.outcomes import Accept, BackOut, Outcome, Reject, Release
from broker.settlement.redelivery_policy import LONGEST_MS
from broker.transactions import leases
from console.edges import masking
from console.edges.numbers import numbered
from console.edges.rest import authentication, idempotency
from console.edges.rest.problems import NO_NUL, REFUSED
from console.edges.rest.requests import RequestBody, named
from console.messages.api.bodies import MessageToPut
from console.messages.api.sending import MOST, built
from console.messages.documents import message_document
from console.messages.queries.browsing import FullMessage

router = Router(tags=["messages"])

SALT = "backout.settlement"
TOKEN = r"^[A-Za-z0-9_:\-]{1,300}$"  # noqa: S105  # its characters
Lease = Field(default=60, ge=1, le=43_200)  # seconds


class Get(RequestBody):
    """How many messages to get, how long to wait, and the lease."""

    limit: int = Field(default=1, ge=1, le=100)  # messages at most
    lease_s: int = Lease  # seconds of the lease
    wait_s: int = Field(default=0, ge=0, le=20)  # seconds to wait for the first message
    selector: str = Field(default="", max_length=4000, pattern=NO_NUL)  # JMS selector


class Got(Schema):
    """The messages, in order; empty if none was ready."""

    messages: list[FullMessage]
    settlement: str | None  # token of the settlement
    until: datetime | None  # when the lease ends


class PutWith(MessageToPut):
    """A message to put in the same transaction as a settlement."""

    address: str = Field(min_length=1, max_length=255, pattern=NO_NUL)


class Settling(RequestBody):
    """The outcome of each delivery."""

    outcome: Literal["accept", "release", "back_out", "reject"]
    # the messages to settle; null: all that the settlement holds
    messages: list[int] | None = Field(default=None, max_length=1000)
    # the error of the attempt, for the record
    error: str = Field(default="", max_length=4000, pattern=NO_NUL)
    # milliseconds until redelivery
    delay_ms: int | None = Field(default=None, ge=0, le=LONGEST_MS)
    puts: list[PutWith] = Field(default=[], max_length=MOST)


class StillHeld(Schema):
    """Deliveries still held; the settlement ends when there are none."""

    held: list[int]


class Renewal(RequestBody):
    """The new duration of the lease, from now."""

    lease_s: int = Lease


class HeldUntil(StillHeld):
    """The deliveries held, and the end of the lease."""

    until: datetime


@router.post(
    "/queues/{queue:name}/get",
    response={200: Got, **REFUSED},
    summary="Get messages to settle them later",
)
def get_messages(request: HttpRequest, name: Path[str], wanted: Get) -> dict[str, Any]:
    """Gets the first messages of a queue for the duration of a lease; needs the
    authority ``get``. With an idempotency key the get does not wait. Clients with a
    credential get the messages as sent; for signed-in users redaction rules mask.
    """
    authorities.require(request.user, "get", name)
    queue = named(name)
    if wanted.selector and authorities.credential_of(request.user) is None:
        redaction.require_selector(request.user, wanted.selector)
    lease = taken(request, queue, wanted)
    if lease is None:
        return {"messages": [], "settlement": None, "until": None}
    return {
        "messages": numbered(
            [
                message_document(one, veil)
                for one, veil in masking.masks_for(request.user, lease.deliveries)
            ]
        ),
        "settlement": signing.dumps(
            [lease.uow, lease.queue_id, authentication.asker(request)], salt=SALT
        ),
        "until": lease.until,
    }


def taken(request: HttpRequest, queue: Queue, wanted: Get) -> leases.Lease | None:
    take = partial(
        leases.take,
        queue,
        limit=wanted.limit,
        lease_for=timedelta(seconds=wanted.lease_s),
        selector=wanted.selector,
        actor=authorities.name_of(request.user),
        user=request.user,
    )
    return awaited(request, queue, wanted.wait_s, take)


def awaited(
    request: HttpRequest,
    queue: Queue,
    wait_s: float,
    take: Callable[[], leases.Lease | None],
) -> leases.Lease | None:
    """Get, and get again when a message may have arrived, until the time is over."""
    may_wait = idempotency.HEADER not in request.headers
    ends_s = time.monotonic() + (wait_s if may_wait else 0)
    while True:
        seen = notifications.version(queue.pk)
        lease = take()
        left_s = ends_s - time.monotonic()
        if lease is not None or left_s <= 0:
            return lease
        if not connection.in_atomic_block:
            connection.close()  # free the database connection while waiting
        notifications.wait(queue.pk, seen, longest_s=left_s)


@router.post(
    "/settlements/{str:settlement}",
    response={200: StillHeld, **REFUSED},
    summary="Settle messages",
)
def settle_messages(
    request: HttpRequest, settlement: Path[str], said: Settling
) -> dict[str, Any]:
    """Settles deliveries and puts messages, all or nothing. ``accept``: processed.
    ``release``: back to the queue, not counted. ``back_out`` (AMQP's *modified*): the
    attempt failed and is counted; the message is redelivered or dead-lettered.
    ``reject``: dead-lettered without further attempts.
    """
    uow, queue_id = lease_of(request, settlement)
    held = authorities.held_by(request.user)
    for one in said.puts:
        if not held.on("put", one.address):
            raise authorities.refusal(request.user, "put", one.address)
    puts = [
        message
        for number, one in enumerate(said.puts)
        for message in built(request, one.address, [one], ["said", "puts", number])
    ]
    left = leases.settle(
        uow,
        queue_id,
        outcome_of(said),
        ids=said.messages,
        puts=puts,
        actor=authorities.name_of(request.user),
    )
    return {"held": left}


@router.post(
    "/settlements/{str:settlement}/renew",
    response={200: HeldUntil, **REFUSED},
    summary="Renew the lease of messages",
)
def renew_lease(
    request: HttpRequest, settlement: Path[str], renewal: Renewal
) -> dict[str, Any]:
    """Extends the lease of the deliveries still held by that many seconds from now."""
    uow, _ = lease_of(request, settlement)
    until = leases.renew(uow, timedelta(seconds=renewal.lease_s))
    return {"held": leases.held(uow), "until": until}


def outcome_of(said: Settling) -> Outcome:
    delay = None if said.delay_ms is None else timedelta(milliseconds=said.delay_ms)
    match said.outcome:
        case "accept":
            return Accept()
        case "release":
            return Release(delay, said.error)
        case "back_out":
            return BackOut(said.error or "Its consumer backed it out.", delay)
        case "reject":
            return Reject(said.error or "Its consumer rejected it.")


def lease_of(request: HttpRequest, settlement: str) -> tuple[int, int]:
    """The unit of work and the queue of a settlement, if the caller got it.

    Raises:
        Http404: the token is unknown, or another client's.
    """
    try:
        uow, queue_id, whose = signing.loads(settlement, salt=SALT)
    except signing.BadSignature:
        raise Http404("settlement of this name") from None
    if whose != authentication.asker(request):
        raise Http404("settlement of this name")
    return uow, queue_id
