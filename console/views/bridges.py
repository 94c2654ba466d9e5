"""Bridges: the list of links, one link, its commands and its dead messages."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from broker.bridges import commands, deciding
from broker.bridges.states import Command
from broker.errors.bridges import BridgeError, CommandRefused
from broker.errors.operations import NothingChosen
from broker.models import AuditRecord, Branch, Link
from broker.monitoring import links_as_consumers
from broker.security import authorities
from console.accounts import permissions
from console.bridge_pages import letters, live, rows, sight, steps, words
from console.bridge_pages.resubmission import plan_through
from console.layout.navigation import url_of
from console.messages.dead_letter_query import PlanForm, names_for
from console.queues import over_time

RECORDS = 5
BRANCHES = 50
DONE = {  # texts after a command; a command takes effect after the current message
    Command.START: "is ordered to start",
    Command.PAUSE: "is ordered to pause",
    Command.RESUME: "is ordered to resume",
    Command.STOP: "is ordered to stop",
}


class BranchReasonForm(forms.Form):
    """The reason for ending a transaction by hand."""

    reason = forms.CharField(
        max_length=500,
        error_messages={
            "required": "Say why. Whoever compares both sides later will read it."
        },
    )


@require_safe
@permission_required(sight.VIEW, raise_exception=True)
def bridges(request: HttpRequest) -> HttpResponse:
    """All links: those that have failed first, then by bridge."""
    held = authorities.held_by(request.user)
    listed = rows.listed(held, request.GET.get("page"))
    every = held.everywhere("inquire")
    context = {
        "list": listed,
        "is_running": links_as_consumers.is_anybody_at_work(),
        "topic": f"links={live.EVERY}" if every and listed.page.object_list else "",
        "add_url": settings_url(
            request, "broker.add_link", "console_settings:broker_link_add"
        ),
    }
    return render(request, "console/bridges/bridges.html", context)


@require_safe
@permission_required(sight.VIEW, raise_exception=True)
def link(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """One link: its steps, settings, dead messages and transactions in doubt."""
    one = sight.found(request.user, bridge, link)
    (row,) = rows.rows_of([one])
    branches = list(Branch.objects.filter(link=one).order_by("began_at")[:BRANCHES])
    context = {
        "row": row,
        "over_time": over_time.of_a_link(request, one),
        "steps": list(steps.steps_of(one, row.status)),
        "guarantee": words.guarantee_of(one),
        "settings": list(words.settings_of(one)),
        "settings_url": settings_url(
            request, "broker.change_link", "console_settings:broker_link_change", one.pk
        ),
        "dead": letters.dead_of(one, names_for(request.user)),
        "branches": branches,
        "is_running": links_as_consumers.is_anybody_at_work(),
        "records": records_of(request, one),
        "topic": f"link={one.pk}",
        "turn": live.turn_of(row.status, live.branches_of(one)),
    }
    return render(request, "console/bridges/link.html", context)


def settings_url(request: HttpRequest, permission: str, view: str, *key: object) -> str:
    """The page where the user can change the object; empty without the permission."""
    may = request.user.is_staff and request.user.has_perm(permission)
    return url_of(view, *key) if may else ""


def records_of(request: HttpRequest, one: Link) -> list[AuditRecord] | None:
    """The latest commands to a link; None for users who may not read the audit."""
    if not request.user.has_perm("broker.view_auditrecord"):
        return None
    of_link = AuditRecord.objects.filter(object_kind="link", object_name=str(one))
    return list(of_link.order_by("-pk")[:RECORDS])


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.OPERATE, raise_exception=True)
def start(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Start a link."""
    return ordered(request, bridge, link, Command.START)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.OPERATE, raise_exception=True)
def pause(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Pause a link."""
    return ordered(request, bridge, link, Command.PAUSE)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.OPERATE, raise_exception=True)
def resume(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Resume a paused link."""
    return ordered(request, bridge, link, Command.RESUME)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.OPERATE, raise_exception=True)
def stop(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Stop a link."""
    return ordered(request, bridge, link, Command.STOP)


def ordered(
    request: HttpRequest, bridge: str, link: str, what: Command
) -> HttpResponse:
    """On GET explain a command; on POST give it, with a record in the audit."""
    one = sight.found(request.user, bridge, link)
    sight.require(request.user, "set", one)
    if request.method != "POST":
        (row,) = rows.rows_of([one])
        context = {"row": row, "command": what.value}
        return render(request, "console/bridges/order.html", context)
    try:
        changed = commands.command(one, what, reason=request.POST.get("reason", ""))
    except CommandRefused as error:
        messages.error(request, str(error))
    else:
        said = DONE[what] if changed else "is in that state already; nothing was done"
        messages.success(request, f"The link {one} {said}.")
    to_list = request.POST.get("back") == "list"
    return redirect("console:bridges") if to_list else redirect_to(one)


def redirect_to(one: Link) -> HttpResponse:
    return redirect("console:link", one.bridge.name, one.name)


@require_POST
@permission_required(permissions.CHANGE, raise_exception=True)
@permission_required(sight.VIEW, raise_exception=True)
def resubmit_through(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Plan to resubmit dead messages of a link through it: one of them, those of one
    group, or all."""
    one = sight.found(request.user, bridge, link)
    form = PlanForm(request.POST)
    if not form.is_valid():
        raise BadRequest("This is no set of dead messages.")
    said = form.cleaned_data
    try:
        plan = plan_through(
            request.user,
            one,
            message_id=said["message"],
            fingerprint=said["fingerprint"],
        )
    except NothingChosen as error:
        messages.error(request, str(error))
        return redirect_to(one)
    return redirect("console:operation", plan.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.DECIDE, raise_exception=True)
def commit_branch(
    request: HttpRequest, bridge: str, link: str, xid: str
) -> HttpResponse:
    """Explain the commit, and do it when it is confirmed."""
    return decided(request, sight.found(request.user, bridge, link), xid, commits=True)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(sight.DECIDE, raise_exception=True)
def roll_back_branch(
    request: HttpRequest, bridge: str, link: str, xid: str
) -> HttpResponse:
    """Explain the rollback, and do it when it is confirmed."""
    return decided(request, sight.found(request.user, bridge, link), xid, commits=False)


def decided(
    request: HttpRequest, one: Link, xid: str, *, commits: bool
) -> HttpResponse:
    """Confirm on GET; on POST end the branch, and record who did it, and why."""
    sight.require(request.user, "set", one)
    branch = Branch.objects.filter(link=one, xid=xid).first()
    if branch is None:
        raise Http404(xid)
    form = BranchReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        reason = form.cleaned_data["reason"]
        try:
            deciding.decide(xid, commit=commits, reason=reason)
        except BridgeError as error:
            form.add_error(None, str(error))
        else:
            word = "committed" if commits else "rolled back"
            messages.success(request, f"The transaction {xid} is {word} there.")
            return redirect_to(one)
    (row,) = rows.rows_of([one])
    context = {"row": row, "branch": branch, "commits": commits, "form": form}
    status = 422 if form.errors else 200
    return render(request, "console/bridges/decide.html", context, status=status)
