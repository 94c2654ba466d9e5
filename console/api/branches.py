"""Branches: units of work of a coordinator outside, such as another Backout.

Who bridges to and from here gets messages in a branch, says in one request which of
them are done and what is to be sent, and has that *prepared*: from then on it waits for
their decision, whatever ends meanwhile. Or, where nobody else is to agree, has it done
at once.

A branch that is not prepared is known by its token, as a settlement is; a prepared one
by its coordinator's name for it, the xid. That is its own: another has other names.

Source:
    The Open Group, "Distributed Transaction Processing: The XA Specification".
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.core import signing
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.amqp.messages.batches import MessageBatch
from broker.errors.messages import InvalidBatch
from broker.errors.redaction import MaskedMessage
from broker.models import Queue
from broker.queueing.put import put_many
from broker.security import authorities, redaction
from broker.settlement.batch import Accept, BackOut, Release
from broker.transactions import branches as units
from broker.transactions import leases
from broker.transactions.leases import Lease
from console.accounts import masking
from console.api import authentication
from console.api.messages import batches, taking
from console.api.messages.sending import MOST
from console.api.messages.taking import StillHeld
from console.api.problems import NO_NUL, REFUSED
from console.api.queues import named

router = Router(tags=["branches"])

SALT = "backout.branch"
FAILED = "Its consumer could not process it."
XID = r"^[A-Za-z0-9._:\-]{1,200}$"
Consumer = Field(default="", max_length=100, pattern=r"^[^\x00/]*$")  # its own name


class GetInBranch(Schema):
    """What one would like to get."""

    limit: int = Field(default=100, ge=1, le=MOST)  # messages at most
    lease_s: int = taking.Lease  # how long they are held, unless they are prepared
    wait_s: float = Field(default=0, ge=0, le=20)  # for the first, if there is none
    selector: str = Field(default="", max_length=4000, pattern=NO_NUL)  # of JMS
    consumer: str = Consumer
    branch: str | None = Field(default=None, max_length=300)  # that is to hold them


class ConsumerOf(Schema):
    """Who begins to take."""

    consumer: str = Consumer


class GivenBack(Schema):
    """How many messages are ready again."""

    messages: int


class ReleaseOf(Schema):
    """What is given back, and whether that counts."""

    messages: list[int] | None = Field(default=None, max_length=MOST)  # null: all held
    failed: bool = False  # whether the attempt failed
    error: str = Field(default="", max_length=4000, pattern=NO_NUL)  # what went wrong


class Sent(Schema):
    """How many messages were put."""

    messages: int


class Name(Schema):
    """What the coordinator calls a branch."""

    xid: str = Field(pattern=XID)


@router.post(
    "/queues/{queue:name}/branch",
    response={200: None, **REFUSED},
    openapi_extra=batches.ANSWERED,
    summary="Get messages in a branch",
)
def get_in_branch(
    request: HttpRequest, name: Path[str], wanted: GetInBranch
) -> HttpResponse:
    """Takes what is first on a queue, on which one needs the authority ``get``. The
    answer is a batch, whose head has the token of the ``branch``, and of each message
    its ``id``. A branch may be given, of the same queue, which then holds these, too.
    What is masked for whoever asks is not given in a branch."""
    authorities.require(request.user, "get", name)
    queue = named(name)
    if wanted.selector and authorities.credential_of(request.user) is None:
        redaction.require_selector(request.user, wanted.selector)
    into = None if wanted.branch is None else branch_of(request, wanted.branch)
    if into is not None and into[1] != queue.pk:
        raise Http404("branch on this queue")
    take = partial(taken, request, queue, wanted, into and into[0])
    lease = taking.awaited(request, queue, wanted.wait_s, take)
    if lease is None:
        return batches.answer((), {"branch": wanted.branch, "until": None})
    token = wanted.branch or signing.dumps(
        [lease.uow, lease.queue_id, authentication.asker(request)], salt=SALT
    )
    head = {"branch": token, "until": lease.until.isoformat()}
    return batches.answer(lease.deliveries, head)


@transaction.atomic
def taken(
    request: HttpRequest, queue: Queue, wanted: GetInBranch, into: int | None
) -> Lease | None:
    """
    Raises:
        MaskedMessage: something of it is masked for this person; nothing is taken.
    """
    lease = leases.take(
        queue,
        limit=wanted.limit,
        lease_for=timedelta(seconds=wanted.lease_s),
        selector=wanted.selector,
        into=into,
        actor=actor_of(request, wanted.consumer),
        user=request.user,
    )
    for _, veil in masking.seen_by_taker(
        request.user, lease.deliveries if lease else ()
    ):
        if veil:
            raise MaskedMessage(veil.names)
    return lease


@router.post(
    "/queues/{queue:name}/branches/give-back",
    response={200: GivenBack, **REFUSED},
    summary="Begin to take under a name",
)
def give_back_branches(
    request: HttpRequest, name: Path[str], who: ConsumerOf
) -> dict[str, Any]:
    """Gives back what a consumer of this name, of the same asker, still holds of the
    queue in branches that are not prepared, uncounted. So one that goes on after a
    crash loses no time and no order. Without a name nothing is given back. Needs the
    authority ``get``."""
    authorities.require(request.user, "get", name)
    queue = named(name)
    if not who.consumer:
        return {"messages": 0}
    actor = actor_of(request, who.consumer)
    return {"messages": units.give_back(queue, actor=actor)}


@router.post(
    "/branches/put",
    response={200: Sent, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Put a batch of messages",
)
def put_batch(request: HttpRequest) -> dict[str, Any]:
    """Each to its own address, on which one needs the authority ``put``: all of them,
    or none."""
    puts = batches.messages_of(request, batches.read(request))
    put_many(puts, actor=authorities.name_of(request.user))
    return {"messages": len(puts)}


@router.post(
    "/branches/prepare",
    response={200: Name, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Put messages in a branch, and prepare it",
)
def prepare_puts(request: HttpRequest, name: Query[Name]) -> dict[str, Any]:
    """As ``/branches/{branch}/prepare``, where nothing was got."""
    return prepared(request, name.xid, batches.read(request), {})


@router.post(
    "/branches/{str:branch}/prepare",
    response={200: Name, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Prepare a branch",
)
def prepare_branch(
    request: HttpRequest, branch: Path[str], name: Query[Name]
) -> dict[str, Any]:
    """Promises to accept what it got and to put the messages of the batch, whose head
    may say which to ``accept``, by their ids; the others go back, uncounted. From then
    on only its xid ends it. What cannot be committed is refused, and is backed out."""
    uow, queue_id = branch_of(request, branch)
    batch = batches.read(request)
    got = {"uow": uow, "queue_id": queue_id, "ids": accepted(batch)}
    return prepared(request, name.xid, batch, got)


def prepared(
    request: HttpRequest, xid: str, batch: MessageBatch, got: dict[str, Any]
) -> dict[str, Any]:
    units.prepare(
        stored_as(request, xid),
        puts=batches.messages_of(request, batch),
        actor=authorities.name_of(request.user),
        user=request.user,
        **got,
    )
    return {"xid": xid}


@router.post(
    "/branches/{str:branch}/accept",
    response={200: StillHeld, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Commit a branch in one phase",
)
def accept_branch(request: HttpRequest, branch: Path[str]) -> dict[str, Any]:
    """Accepts what it got and puts the messages of the batch, whose head may say which
    to ``accept``, by their ids: all of it, or nothing. The others it goes on
    holding."""
    uow, queue_id = branch_of(request, branch)
    batch = batches.read(request)
    left = leases.settle(
        uow,
        queue_id,
        Accept(),
        ids=accepted(batch),
        puts=batches.messages_of(request, batch),
        actor=authorities.name_of(request.user),
    )
    return {"held": left}


@router.post(
    "/branches/{str:branch}/release",
    response={200: StillHeld, **REFUSED},
    summary="Give messages of a branch back",
)
def release_branch(
    request: HttpRequest, branch: Path[str], said: ReleaseOf
) -> dict[str, Any]:
    """They are where they were, uncounted; or the attempt has ``failed``, and is
    counted: they come again, or are dead letters."""
    uow, queue_id = branch_of(request, branch)
    outcome = BackOut(said.error or FAILED) if said.failed else Release()
    actor = authorities.name_of(request.user)
    ids = said.messages
    left = leases.settle(uow, queue_id, outcome, ids=ids, actor=actor)
    return {"held": left}


def accepted(batch: MessageBatch) -> list[int] | None:
    """Which messages the head of a batch says are to be accepted; None: all.

    Raises:
        InvalidBatch: it says something else.
    """
    ids = batch.head.get("accept")
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(
        type(one) is int and 0 <= one < 2**63 for one in ids
    ):
        raise InvalidBatch("what it accepts are no ids of messages")
    return ids


def branch_of(request: HttpRequest, branch: str) -> tuple[int, int]:
    """The unit of work and the queue of a token, for whoever got it.

    Raises:
        Http404: it is none, or somebody else's.
    """
    try:
        uow, queue_id, whose = signing.loads(branch, salt=SALT)
    except signing.BadSignature:
        raise Http404("branch of this token") from None
    if whose != authentication.asker(request):
        raise Http404("branch of this token")
    return uow, queue_id


def actor_of(request: HttpRequest, consumer: str) -> str:
    """A consumer as the journal has it, which is how it is found again."""
    name = authorities.name_of(request.user)
    return f"{name}/{consumer}" if consumer else name


def stored_as(request: HttpRequest, xid: str) -> str:
    """What this asker calls a branch, as the broker keeps it: nobody else can name
    it."""
    return f"{authentication.asker(request).replace(' ', '-')}:{xid}"
