"""Prepared branches of the caller, a coordinator: list, commit, back out.

People decide in place of a coordinator by the number of the unit of work, see
``broker.acts.units_of_work``.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.models import UnitOfWork
from broker.security import authorities
from broker.transactions.prepared import (
    back_out_prepared,
    commit_prepared,
    release_prepared,
)
from console.edges.rest.problems import NO_NUL, REFUSED
from console.edges.rest.requests import RequestBody
from console.messages.api.branches import stored_as

router = Router(tags=["branches"])

MOST = 10_000  # xids in one response


class BranchesOf(Schema):
    """The prefix of the xids to list."""

    prefix: str = Field(default="", max_length=200, pattern=NO_NUL)


class Branches(Schema):
    """The caller's prepared branches, the oldest first."""

    xids: list[str]


class BackOutOf(RequestBody):
    """Whether the attempt to process the messages counts as failed."""

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
def commit_branch(request: HttpRequest, xid: Path[str]) -> dict[str, Any]:
    """Accepts the messages the branch got and puts its messages. 404 ``no-such-xid``
    means that the xid is not prepared, or no longer; repeating the request is safe.
    """
    name = authorities.name_of(request.user)
    commit_prepared(stored_as(request, xid), coordinator=name)
    return {"xid": xid}


@router.post(
    "/branches/{str:xid}/back-out",
    response={200: Decided, **REFUSED},
    summary="Back out a prepared branch",
)
def back_out_branch(
    request: HttpRequest, xid: Path[str], what: BackOutOf
) -> dict[str, Any]:
    """Backs out the messages the branch got, counted as failed unless ``failed`` is
    false, and discards its puts. 404 ``no-such-xid`` as for a commit.
    """
    end = back_out_prepared if what.failed else release_prepared
    name = authorities.name_of(request.user)
    end(stored_as(request, xid), coordinator=name)
    return {"xid": xid}
