"""Prepared branches: which wait for whoever asks, and how they end.

A coordinator decides what it prepared, and nothing else. In its place a person may
decide, as on the page of health: with the reason, which is recorded.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.errors.operations import ReasonMissing
from broker.errors.units_of_work import NoSuchXid
from broker.models import UnitOfWork
from broker.security import authorities
from broker.transactions.prepared import (
    back_out_prepared,
    commit_prepared,
    release_prepared,
)
from console.api.branches import stored_as
from console.api.problems import NO_NUL, REFUSED, require
from console.views.queues import prepared

router = Router(tags=["branches"])

MOST = 10_000  # names of one answer


class BranchesOf(Schema):
    """How the names of those begin that one asks for."""

    prefix: str = Field(default="", max_length=200, pattern=NO_NUL)


class Branches(Schema):
    """What waits for whoever asks, the oldest first."""

    xids: list[str]


class Commit(Schema):
    """Why somebody decides in the place of the coordinator; who is it says nothing."""

    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class BackOutOf(Commit):
    """Also whether the attempt to process what it got counts as failed."""

    failed: bool = True


class Decided(Schema):
    """A branch that has ended."""

    xid: str


@router.get(
    "/branches", response={200: Branches, **REFUSED}, summary="Prepared branches"
)
def list_branches(request: HttpRequest, wanted: Query[BranchesOf]) -> dict[str, Any]:
    """The xids of one's own that are prepared, and so wait to be committed or backed
    out. What waits in all, ``/health`` says to people."""
    whole = stored_as(request, "")
    mine = UnitOfWork.objects.filter(xid__startswith=whole + wanted.prefix)
    xids = mine.order_by("id").values_list("xid", flat=True)[:MOST]
    return {"xids": [(xid or "").removeprefix(whole) for xid in xids]}


@router.post(
    "/branches/{str:xid}/commit",
    response={200: Decided, **REFUSED},
    summary="Commit a prepared branch",
)
def commit_branch(request: HttpRequest, xid: Path[str], why: Commit) -> dict[str, Any]:
    """Accepts what it got and puts what it was to put. 404 ``no-such-xid`` says that
    it is not prepared any more, or never was: to ask twice does no harm."""
    stored = stored_as(request, xid)
    if is_own(request, stored):
        commit_prepared(stored, coordinator=authorities.name_of(request.user))
    else:
        decide(request, xid, why.reason, commits=True)
    return {"xid": xid}


@router.post(
    "/branches/{str:xid}/back-out",
    response={200: Decided, **REFUSED},
    summary="Back out a prepared branch",
)
def back_out_branch(
    request: HttpRequest, xid: Path[str], why: BackOutOf
) -> dict[str, Any]:
    """Gives back what it got, counted as failed unless ``failed`` is false, and never
    puts what it was to put. 404 ``no-such-xid`` as for a commit."""
    stored, name = stored_as(request, xid), authorities.name_of(request.user)
    if not is_own(request, stored):
        decide(request, xid, why.reason, commits=False)
    elif why.failed:
        back_out_prepared(stored, coordinator=name)
    else:
        release_prepared(stored, coordinator=name)
    return {"xid": xid}


def is_own(request: HttpRequest, stored: str) -> bool:
    """Whether whoever asks is the coordinator; a machine is no other's."""
    if authorities.credential_of(request.user) is not None:
        return True
    return UnitOfWork.objects.filter(xid=stored).exists()


def decide(request: HttpRequest, xid: str, reason: str, *, commits: bool) -> None:
    """End a unit of work in the place of its coordinator, as its page does.

    Args:
        request: of a person.
        xid: as the broker keeps it, and ``/health`` tells it.
        reason: why.
        commits: or it is backed out.

    Raises:
        NoSuchXid: there is none that they may know.
        ReasonMissing: they do not say why.
        NotAuthorized: on one of its queues they may not set.
    """
    require(request, prepared.DECIDE)
    held = authorities.held_by(request.user)
    found = next((one for one in prepared.waiting(held) if one.work.xid == xid), None)
    if found is None:
        raise NoSuchXid(xid)
    authorities.require(request.user, "set", *found.queues)
    if not reason.strip():
        raise ReasonMissing("This decision")
    prepared.end(request, found, reason.strip(), commits=commits)
