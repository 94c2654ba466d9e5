"""Transaction branches for an external coordinator, such as another Backout.

A client gets messages in a branch and holds them by a lease. One request then names the
messages to accept and the messages to put, and *prepares* the branch. A prepared branch
has no lease: it waits for the coordinator's decision, also over restarts. A client
without other participants commits in one phase instead.

An open branch is identified by a token, as a settlement is. A prepared branch is
identified by its xid. The xids of different callers are separate.

Source:
    The Open Group, "Distributed Transaction Processing: The XA Specification".
"""

from __future__ import annotations

from contextlib import suppress
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
from broker.errors.units_of_work import NoSuchXid
from broker.models import Queue
from broker.queueing.put import put_as_given
from broker.security import authorities, redaction
from broker.settlement.outcomes import Accept, BackOut, Release
from broker.transactions import branches, leases
from broker.transactions.leases import Lease
from broker.transactions.prepared import commit_prepared
from console.edges import masking
from console.edges.rest import authentication
from console.edges.rest.problems import NO_NUL, REFUSED
from console.edges.rest.requests import RequestBody, named
from console.messages.api import batches, taking
from console.messages.api.sending import MOST
from console.messages.api.taking import StillHeld

router = Router(tags=["branches"])

SALT = "backout.branch"
FAILED = "Its consumer could not process it."
XID = r"^[A-Za-z0-9._:\-]{1,200}$"
# the consumer's name
Consumer = Field(default="", max_length=100, pattern=r"^[^\x00/]*$")


class GetInBranch(RequestBody):
    """How many messages to get, how long to wait, and the lease."""

    limit: int = Field(default=100, ge=1, le=MOST)  # messages at most
    lease_s: int = taking.Lease  # seconds; a prepared branch has no lease
    # seconds to wait for the first message
    wait_s: float = Field(default=0, ge=0, le=20)
    selector: str = Field(default="", max_length=4000, pattern=NO_NUL)  # JMS selector
    consumer: str = Consumer
    # the branch to get in; null: a new one
    branch: str | None = Field(default=None, max_length=300)
    # a prepared branch of the caller, which is committed first if it has not ended
    commit: str | None = Field(default=None, pattern=XID)


class ConsumerOf(RequestBody):
    """The consumer that starts."""

    consumer: str = Consumer


class GivenBack(Schema):
    """The number of messages released."""

    messages: int


class ReleaseOf(RequestBody):
    """Which messages to release, and whether the attempt counts as failed."""

    messages: list[int] | None = Field(default=None, max_length=MOST)  # null: all
    failed: bool = False  # whether the attempt failed
    # whether failed messages return to their places at once, without a redelivery delay
    at_once: bool = False
    # the error of the attempt, for the record
    error: str = Field(default="", max_length=4000, pattern=NO_NUL)


class Sent(Schema):
    """How many messages were put."""

    messages: int


class Name(Schema):
    """The coordinator's xid of a branch."""

    xid: str = Field(pattern=XID)


class Names(Name):
    """The branch to prepare, and another one to commit first."""

    # a prepared branch of the caller, which is committed first if it has not ended
    commit: str | None = Field(default=None, pattern=XID)


@router.post(
    "/queues/{queue:name}/branch",
    response={200: None, **REFUSED},
    openapi_extra=batches.ANSWERED,
    summary="Get messages in a branch",
)
def get_in_branch(
    request: HttpRequest, name: Path[str], wanted: GetInBranch
) -> HttpResponse:
    """Gets the first messages of a queue; needs the authority ``get``. The response is
    a batch: its head has the token of the ``branch`` and ``until``, the end of its
    lease; each message has its ``id``. If the request names a branch of the same queue,
    that branch holds these messages, too, and its lease is renewed. If one of the
    messages is masked for the caller, the request is refused and nothing is got. With
    ``commit`` a prepared branch is committed before, also if nothing is got.
    """
    authorities.require(request.user, "get", name)
    queue = named(name)
    if wanted.selector and authorities.credential_of(request.user) is None:
        redaction.require_selector(request.user, wanted.selector)
    into = None if wanted.branch is None else branch_of(request, wanted.branch)
    if into is not None and into[1] != queue.pk:
        raise Http404("branch on this queue")
    commit_first(request, wanted.commit)
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
    """Get messages into a branch; None if nothing is ready.

    Raises:
        LockLost: the lease of the named branch has ended.
        MaskedMessage: one of them is masked for the user; nothing is got.
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
    for _, veil in masking.masks_for(request.user, lease.deliveries if lease else ()):
        if veil:
            raise MaskedMessage(veil.names)
    return lease


@router.post(
    "/queues/{queue:name}/branches/give-back",
    response={200: GivenBack, **REFUSED},
    summary="Release the open branches of a consumer",
)
def give_back_branches(
    request: HttpRequest, name: Path[str], who: ConsumerOf
) -> dict[str, Any]:
    """Releases, uncounted, the messages of the queue that open branches of the caller's
    consumer of this name hold. A consumer calls this when it restarts after a crash: it
    gets them again in order, before their leases end. Without a name nothing is
    released. Needs the authority ``get``.
    """
    authorities.require(request.user, "get", name)
    queue = named(name)
    if not who.consumer:
        return {"messages": 0}
    actor = actor_of(request, who.consumer)
    return {"messages": branches.give_back(queue, actor=actor)}


@router.post(
    "/branches/put",
    response={200: Sent, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Put a batch of messages",
)
def put_batch(request: HttpRequest) -> dict[str, Any]:
    """Puts each message to its own address, all or none. Needs the authority ``put`` on
    each address.
    """
    puts = batches.messages_of(request, batches.read(request))
    put_as_given(puts, actor=authorities.name_of(request.user))
    return {"messages": len(puts)}


@router.post(
    "/branches/prepare",
    response={200: Name, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Put messages in a branch, and prepare it",
)
def prepare_puts(request: HttpRequest, names: Query[Names]) -> dict[str, Any]:
    """Prepares a branch without gets, like ``/branches/{branch}/prepare``."""
    return prepared(request, names, batches.read(request), {})


@router.post(
    "/branches/{str:branch}/prepare",
    response={200: Name, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Prepare a branch",
)
def prepare_branch(
    request: HttpRequest, branch: Path[str], names: Query[Names]
) -> dict[str, Any]:
    """Prepares the branch: its commit will accept the messages it got, and put the
    messages of the batch. The head may list the ids to ``accept``; the others are
    released now, uncounted. From then on only a decision by xid ends the branch. A
    branch that could not be committed is refused and backed out. With ``commit``
    another prepared branch is committed before, also if this one is refused.
    """
    uow, queue_id = branch_of(request, branch)
    batch = batches.read(request)
    got = {"uow": uow, "queue_id": queue_id, "ids": accepted(batch)}
    return prepared(request, names, batch, got)


def prepared(
    request: HttpRequest, names: Names, batch: MessageBatch, got: dict[str, Any]
) -> dict[str, Any]:
    commit_first(request, names.commit)
    branches.prepare(
        stored_as(request, names.xid),
        puts=batches.messages_of(request, batch),
        actor=authorities.name_of(request.user),
        **got,
    )
    return {"xid": names.xid}


def commit_first(request: HttpRequest, xid: str | None) -> None:
    """Commit a prepared branch of the caller, if there is one of this xid."""
    if xid is not None:
        with suppress(NoSuchXid):
            commit_prepared(
                stored_as(request, xid), coordinator=authorities.name_of(request.user)
            )


@router.post(
    "/branches/{str:branch}/accept",
    response={200: StillHeld, **REFUSED},
    openapi_extra=batches.ASKED,
    summary="Commit a branch in one phase",
)
def accept_branch(request: HttpRequest, branch: Path[str]) -> dict[str, Any]:
    """Commits in one phase: accepts the messages the branch got and puts the messages
    of the batch, all or nothing. The head may list the ids to ``accept``; the branch
    goes on holding the others.
    """
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
    summary="Release or back out messages of a branch",
)
def release_branch(
    request: HttpRequest, branch: Path[str], said: ReleaseOf
) -> dict[str, Any]:
    """Releases the listed messages, or all, uncounted. With ``failed`` they are backed
    out and counted, and are redelivered, dead-lettered or discarded.
    """
    uow, queue_id = branch_of(request, branch)
    failed = BackOut(said.error or FAILED, at_once=said.at_once)
    outcome = failed if said.failed else Release()
    actor = authorities.name_of(request.user)
    ids = said.messages
    left = leases.settle(uow, queue_id, outcome, ids=ids, actor=actor)
    return {"held": left}


def accepted(batch: MessageBatch) -> list[int] | None:
    """The ids that the head of a batch lists to accept; None: all.

    Raises:
        InvalidBatch: the list is malformed.
    """
    ids = batch.head.get("accept")
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(
        type(one) is int and 0 <= one < 2**63 for one in ids
    ):
        raise InvalidBatch("its “accept” is not a list of message ids")
    return ids


def branch_of(request: HttpRequest, branch: str) -> tuple[int, int]:
    """The unit of work and the queue of a token, if the caller got it.

    Raises:
        Http404: the token is unknown, or another client's.
    """
    try:
        uow, queue_id, whose = signing.loads(branch, salt=SALT)
    except signing.BadSignature:
        raise Http404("branch of this token") from None
    if whose != authentication.asker(request):
        raise Http404("branch of this token")
    return uow, queue_id


def actor_of(request: HttpRequest, consumer: str) -> str:
    """The consumer's name in the journal, by which its branches are found again."""
    name = authorities.name_of(request.user)
    return f"{name}/{consumer}" if consumer else name


def stored_as(request: HttpRequest, xid: str) -> str:
    """The xid in the broker for a caller's xid; other callers cannot form it."""
    return branches.stored_as(request.user, xid)
