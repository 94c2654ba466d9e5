"""Prepared branches: list those of the caller, commit them or back them out.

A coordinator decides its own prepared branches only. A person may decide in its place,
as on the Health page, and must give a reason, which is recorded.
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
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody
from console.queues import prepared

router = Router(tags=["branches"])

MOST = 10_000  # xids in one response


class BranchesOf(Schema):
    """The prefix of the xids to list."""

    prefix: str = Field(default="", max_length=200, pattern=NO_NUL)


class Branches(Schema):
    """The caller's prepared branches, the oldest first."""

    xids: list[str]


class Commit(RequestBody):
    """The reason of a person who decides in place of the coordinator."""

    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class BackOutOf(Commit):
    """The reason, and whether the attempt to process the messages counts as failed."""

    failed: bool = True


class Decided(Schema):
    """A branch that has ended."""

    xid: str


@router.get(
    "/branches", response={200: Branches, **REFUSED}, summary="Prepared branches"
)
def list_branches(request: HttpRequest, wanted: Query[BranchesOf]) -> dict[str, Any]:
    """The caller's own prepared xids, which wait for a commit or a backout. Users see
    all prepared units of work under ``/health``.
    """
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
    """Accepts the messages the branch got and puts its messages. 404 ``no-such-xid``
    means that the xid is not prepared, or no longer; repeating the request is safe.
    """
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
    """Backs out the messages the branch got, counted as failed unless ``failed`` is
    false, and discards its puts. 404 ``no-such-xid`` as for a commit.
    """
    stored, name = stored_as(request, xid), authorities.name_of(request.user)
    if not is_own(request, stored):
        decide(request, xid, why.reason, commits=False)
    elif why.failed:
        back_out_prepared(stored, coordinator=name)
    else:
        release_prepared(stored, coordinator=name)
    return {"xid": xid}


def is_own(request: HttpRequest, stored: str) -> bool:
    """Whether the caller is the branch's coordinator."""
    if authorities.credential_of(request.user) is not None:
        return True
    return UnitOfWork.objects.filter(xid=stored).exists()


def decide(request: HttpRequest, xid: str, reason: str, *, commits: bool) -> None:
    """End a prepared unit of work in place of its coordinator, as the page does.

    Args:
        request: of a signed-in user.
        xid: as stored by the broker and shown by ``/health``.
        reason: for the audit.
        commits: true to commit, false to back out.

    Raises:
        NoSuchXid: no such unit of work, or hidden from the user.
        ReasonMissing: no reason is given.
        NotAuthorized: ``set`` is missing on one of its queues.
    """
    require(request, prepared.DECIDE)
    held = authorities.held_by(request.user)
    found = next((one for one in prepared.waiting(held) if one.work.xid == xid), None)
    if found is None:
        raise NoSuchXid(xid)
    authorities.require(request.user, "set", *found.queues)
    if not reason.strip():
        raise ReasonMissing("This decision")
    actor = request.user.get_username()
    prepared.end(found, reason.strip(), actor=actor, commits=commits)
