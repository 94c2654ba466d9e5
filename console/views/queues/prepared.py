"""Prepared units of work: which wait, and deciding in the place of a coordinator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from broker.errors.units_of_work import NoSuchXid
from broker.models import Claim, PreparedPut, Queue, UnitOfWork
from broker.security import authorities
from broker.transactions.prepared import (
    PreparedUnitOfWork,
    back_out_prepared,
    commit_prepared,
    prepared,
)

DECIDE = "broker.resubmit_message"  # to bring messages on, or back, is one permission
BACKED_OUT = "An operator backed out its prepared unit of work: "

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A unit of work that waits for its coordinator, and what it is about."""

    work: PreparedUnitOfWork
    got: list[str]  # queues that it has entries of; empty for one that is gone
    to: list[str]  # addresses that it sends to
    queues: frozenset[str]  # all that its end changes, by name
    may_decide: bool


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        error_messages={
            "required": "Say why. Whoever compares both sides later will read it."
        },
    )


@require_http_methods(["GET", "POST"])
@permission_required(DECIDE, raise_exception=True)
def commit(request: HttpRequest, uow: int) -> HttpResponse:
    """Say what committing does, and do it when that is confirmed."""
    return decide(request, uow, commits=True)


@require_http_methods(["GET", "POST"])
@permission_required(DECIDE, raise_exception=True)
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Say what backing out does, and do it when that is confirmed."""
    return decide(request, uow, commits=False)


def decide(request: HttpRequest, uow: int, *, commits: bool) -> HttpResponse:
    """Confirm on GET; on POST end the unit of work, and write down who did, and why."""
    held = authorities.held_by(request.user)
    found = next((one for one in waiting(held) if one.work.uow == uow), None)
    if found is None:
        messages.warning(
            request,
            f"Unit of work {uow} is not prepared any more: it was committed or backed"
            " out meanwhile. Nothing was done now.",
        )
        return redirect("console:health")
    authorities.require(request.user, "set", *found.queues)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"one": found, "commits": commits, "form": form}
        status = 422 if form.is_bound else 200
        return render(request, "console/health/decide.html", context, status=status)
    end(request, found, form.cleaned_data["reason"], commits=commits)
    messages.success(request, f"Unit of work {uow} is {ended(commits=commits)}.")
    return redirect("console:health")


@transaction.atomic
def end(request: HttpRequest, found: PreparedRow, why: str, *, commits: bool) -> None:
    """Do what was decided, with its record; both or none.

    Raises:
        BrokerError: as ``commit_prepared`` and ``back_out_prepared``.
    """
    actor, xid = request.user.get_username(), found.work.xid
    unit = UnitOfWork.objects.select_for_update().filter(pk=found.work.uow, xid=xid)
    if unit.first() is None:
        raise NoSuchXid(xid)
    if commits:
        commit_prepared(xid, actor=actor, reason=why)
    else:
        back_out_prepared(xid, error=BACKED_OUT + why, actor=actor, reason=why)


def ended(*, commits: bool) -> str:
    return "committed" if commits else "backed out"


def waiting(held: authorities.GrantedAuthorities) -> list[PreparedRow]:
    """What waits on queues that may all be inquired, the oldest first. Four queries."""
    works = prepared()
    if not works:
        return []
    uows = [work.uow for work in works]
    claims = Claim.objects.filter(uow__in=uows)
    puts = PreparedPut.objects.filter(uow__in=uows, fields__has_key="address")
    got = grouped(claims.values_list("uow", "queue_id").distinct())
    to = grouped(puts.values_list("uow", "fields__address").distinct())
    names, fed = named(chain(*got.values()), chain(*to.values()))
    found = []
    for work in works:
        taken = sorted(names.get(pk, "") for pk in got[work.uow])
        sent = sorted(to[work.uow])
        queues = {one for address in sent for one in fed.get(address) or [address]}
        queues |= {name for name in taken if name}
        if all(held.on("inquire", name) for name in queues):
            may = all(held.on("set", name) for name in queues)
            found.append(PreparedRow(work, taken, sent, frozenset(queues), may))
    return found


def named(
    queue_ids: Iterable[int], addresses: Iterable[str]
) -> tuple[dict[int, str], dict[str, set[str]]]:
    """The names of queues, and those of the queues that addresses feed."""
    chosen = Q(pk__in=set(queue_ids)) | Q(address__name__in=set(addresses))
    rows = list(Queue.objects.filter(chosen).values_list("pk", "name", "address__name"))
    return (
        {pk: name for pk, name, _ in rows},
        grouped((address, name) for _, name, address in rows),
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, set[Value]]:
    result: dict[Key, set[Value]] = defaultdict(set)
    for key, value in pairs:
        result[key].add(value)
    return result
