"""Getting messages in a unit of work that is held between calls, and settling them.

A get answers with messages and a *settlement*: who got them says by it what becomes of
them. Until then nobody else gets them, and no longer than their lease: what is not
settled by then is backed out, and counted. Any web process takes a settlement, also
after a restart of all of them.
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
from broker.settlement.batch import Accept, BackOut, Outcome, Reject, Release
from broker.settlement.redelivery_policy import LONGEST_MS
from broker.transactions import leases
from console.accounts import masking
from console.api import authentication, idempotency
from console.api.bodies import FullMessage, MessageToPut, told
from console.api.messages.sending import MOST, built
from console.api.problems import NO_NUL, REFUSED
from console.api.queues import named

router = Router(tags=["messages"])

SALT = "backout.settlement"
TOKEN = r"^[A-Za-z0-9_:\-]{1,300}$"  # noqa: S105  # its characters
Lease = Field(default=60, ge=1, le=43_200)  # seconds


class Get(Schema):
    """What one would like to get."""

    limit: int = Field(default=1, ge=1, le=100)  # messages at most
    lease_s: int = Lease  # how long they are held
    wait_s: int = Field(default=0, ge=0, le=20)  # for the first, if there is none
    selector: str = Field(default="", max_length=4000, pattern=NO_NUL)  # of JMS


class Got(Schema):
    """What was got, in order; nothing, where nothing was ready."""

    messages: list[FullMessage]
    settlement: str | None  # by which they are settled
    until: datetime | None  # when the lease ends


class PutWith(MessageToPut):
    """A message that is sent with a settlement."""

    address: str = Field(min_length=1, max_length=255, pattern=NO_NUL)


class Settling(Schema):
    """What becomes of messages."""

    outcome: Literal["accept", "release", "back_out", "reject"]
    messages: list[int] | None = Field(default=None, max_length=1000)  # null: all held
    error: str = Field(default="", max_length=4000, pattern=NO_NUL)  # what went wrong
    delay_ms: int | None = Field(default=None, ge=0, le=LONGEST_MS)  # before it is back
    puts: list[PutWith] = Field(default=[], max_length=MOST)


class StillHeld(Schema):
    """What is still held; the settlement is over when that is nothing."""

    held: list[int]


class Renewal(Schema):
    """How long one goes on holding, from now."""

    lease_s: int = Lease


class HeldUntil(StillHeld):
    """What is held, and until when."""

    until: datetime


@router.post(
    "/queues/{queue:name}/get",
    response={200: Got, **REFUSED},
    summary="Get messages to settle them later",
)
def get_messages(request: HttpRequest, name: Path[str], wanted: Get) -> dict[str, Any]:
    """Takes what is first on a queue, on which one needs the authority ``get``, for as
    long as the lease. With an idempotency key it does not wait. An application, which
    comes by a credential, gets what was sent; of what people get, redaction rules mask
    what they hide."""
    authorities.require(request.user, "get", name)
    queue = named(name)
    if wanted.selector and authorities.credential_of(request.user) is None:
        redaction.require_selector(request.user, wanted.selector)
    lease = taken(request, queue, wanted)
    if lease is None:
        return {"messages": [], "settlement": None, "until": None}
    return {
        "messages": [
            told(one, veil)
            for one, veil in masking.seen_by_taker(request.user, lease.deliveries)
        ],
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
    """Look, and look again when something may have arrived, until it is time."""
    may_wait = idempotency.HEADER not in request.headers
    ends_s = time.monotonic() + (wait_s if may_wait else 0)
    while True:
        seen = notifications.version(queue.pk)
        lease = take()
        left_s = ends_s - time.monotonic()
        if lease is not None or left_s <= 0:
            return lease
        if not connection.in_atomic_block:
            connection.close()  # others need it meanwhile
        notifications.wait(queue.pk, seen, longest_s=left_s)


@router.post(
    "/settlements/{str:settlement}",
    response={200: StillHeld, **REFUSED},
    summary="Settle messages",
)
def settle_messages(
    request: HttpRequest, settlement: Path[str], said: Settling
) -> dict[str, Any]:
    """Ends deliveries, and sends messages with them: all of it, or nothing.
    ``accept``: they were processed. ``release``: they go back, uncounted. ``back_out``
    (AMQP's *modified*): the attempt failed and is counted; they come again, or are dead
    letters. ``reject``: they are not to be tried again."""
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
    summary="Go on holding messages",
)
def renew_lease(
    request: HttpRequest, settlement: Path[str], renewal: Renewal
) -> dict[str, Any]:
    """Holds what is still held for so many seconds from now on."""
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
    """The unit of work and the queue of a settlement, for whoever got it.

    Raises:
        Http404: it is none, or somebody else's.
    """
    try:
        uow, queue_id, whose = signing.loads(settlement, salt=SALT)
    except signing.BadSignature:
        raise Http404("settlement of this name") from None
    if whose != authentication.asker(request):
        raise Http404("settlement of this name")
    return uow, queue_id
