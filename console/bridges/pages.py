"""Bridges: the list of links, a new link, one link, its commands and its dead
messages."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from broker import acts
from broker.acts.bridges import (
    commit_link_branch,
    pause_link,
    resubmit_through_link,
    resume_link,
    roll_back_link_branch,
    start_link,
    stop_link,
)
from broker.acts.objects import find_branch, find_link
from broker.errors.bridges import BridgeError, CommandRefused
from broker.errors.operations import NothingChosen
from broker.models import AuditRecord, Branch, Link
from broker.monitoring import links_as_consumers
from broker.security import authorities
from broker.security.authorities import EVERYTHING
from console.bridges import live, rows, steps, words
from console.bridges.new_link import ADD, NewLink, try_connection
from console.edges import denials
from console.edges.permissions import LINKS
from console.edges.web.forms import ActForm, form_of
from console.layout.navigation import url_of
from console.messages import link_letters as letters
from console.messages.dead_letter_query import names_for
from console.queues import over_time
from dashboards.live import depths

RECORDS = 5
BRANCHES = 50
ALREADY = gettext_noop("The link %(link)s is in that state already; nothing was done.")
ORDERED = {
    "start": gettext_noop("The link %(link)s is ordered to start."),
    "pause": gettext_noop("The link %(link)s is ordered to pause."),
    "resume": gettext_noop("The link %(link)s is ordered to resume."),
    "stop": gettext_noop("The link %(link)s is ordered to stop."),
}
WHY: dict[str, Any] = {
    "reason": gettext_lazy("Say why. Whoever compares both sides later will read it.")
}
StartForm, PauseForm, ResumeForm, StopForm = (
    form_of(one, "bridge", "link")
    for one in (start_link, pause_link, resume_link, stop_link)
)
ThroughForm = form_of(resubmit_through_link, "bridge", "link")
CommitForm, RollBackForm = (
    form_of(one, "bridge", "link", "xid", shown=(BridgeError,), **WHY)
    for one in (commit_link_branch, roll_back_link_branch)
)


@require_safe
@permission_required(LINKS, raise_exception=True)
def bridges(request: HttpRequest) -> HttpResponse:
    """All links: those that have failed first, then by bridge."""
    held = authorities.held_by(request.user)
    listed = rows.listed(held, request.GET.get("page"))
    every = held.everywhere("inquire")
    context = {
        "list": listed,
        "is_running": links_as_consumers.is_anybody_at_work(),
        "topic": f"links={live.EVERY}" if every and listed.page.object_list else "",
        "may_add": request.user.has_perms(ADD),
    }
    return render(request, "console/bridges/bridges.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(ADD, raise_exception=True)
def new_link(request: HttpRequest) -> HttpResponse:
    """Show the form; on POST create the link and its missing parts, or only test a
    connection."""
    user = cast("User", request.user)  # the permission implies a sign-in
    said = request.POST if request.method == "POST" else None
    new = NewLink(user, said)
    context = {"new": new, "queues": depths.queues(user=user)}
    end = {"source": new.source, "target": new.target}.get(request.POST.get("test", ""))
    if end:
        end.works, end.result = try_connection(user, end)
        if "HX-Request" in request.headers:
            return render(request, "console/bridges/_tested.html", {"end": end})
        return render(request, "console/bridges/new.html", context)
    if said and (link := new.create()):
        made = gettext("The link %(link)s is created.")
        if also := ", ".join(new.created):
            made = gettext("The link %(link)s is created, with %(also)s.")
        messages.success(request, made % {"link": link, "also": also})
        return redirect_to(link)
    status = 422 if said else 200
    return render(request, "console/bridges/new.html", context, status=status)


@require_safe
@permission_required(LINKS, raise_exception=True)
def link(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """One link: its steps, settings, dead messages and transactions in doubt."""
    one = find_link(authorities.held_by(request.user), bridge, link)
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
    done = of_link.exclude(outcome=AuditRecord.Outcome.REFUSED)
    return list(done.order_by("-pk")[:RECORDS])


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Start a link."""
    return ordered(request, StartForm, bridge=bridge, link=link)


@require_http_methods(["GET", "HEAD", "POST"])
def pause(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Pause a link."""
    return ordered(request, PauseForm, bridge=bridge, link=link)


@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Resume a paused link."""
    return ordered(request, ResumeForm, bridge=bridge, link=link)


@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Stop a link."""
    return ordered(request, StopForm, bridge=bridge, link=link)


def ordered(request: HttpRequest, kind: type[ActForm], **about: str) -> HttpResponse:
    """On GET explain a command; on POST give it."""
    acts.require(request.user, kind.declaration.request(**about))
    found = find_link(EVERYTHING, **about)
    what = kind.declaration.name.removesuffix("_link")
    form = kind(request.POST if request.method == "POST" else None)
    try:
        answer = form.carry_out(request, **about) if form.is_valid() else None
    except CommandRefused as error:
        denials.note(request, error)
        messages.error(request, str(error))
    else:
        if answer is None:
            (row,) = rows.rows_of([found])
            context = {"row": row, "command": what, "label": label_of(what)}
            context |= {"form": form}
            status = 422 if form.errors else 200
            page = "console/bridges/order.html"
            return render(request, page, context, status=status)
        said = ORDERED[what] if answer.changed else ALREADY
        messages.success(request, gettext(said) % {"link": found})
    to_list = request.POST.get("back") == "list"
    return redirect("console:bridges") if to_list else redirect_to(found)


def label_of(command: str) -> str:
    """A command as a heading has it."""
    labels = {
        "start": pgettext("verb", "Start"),
        "pause": pgettext("verb", "Pause"),
        "resume": gettext("Resume"),
        "stop": pgettext("verb", "Stop"),
    }
    return labels[command]


def redirect_to(one: Link) -> HttpResponse:
    return redirect("console:link", one.bridge.name, one.name)


@require_POST
def resubmit_through(request: HttpRequest, bridge: str, link: str) -> HttpResponse:
    """Plan to resubmit dead messages of a link through it: one of them, those of one
    group, or all."""
    try:
        plan = ThroughForm(request.POST).order(request, bridge=bridge, link=link)
    except NothingChosen as error:
        denials.note(request, error)
        messages.error(request, str(error))
        return redirect("console:link", bridge, link)
    return redirect("console:operation", plan.id)


@require_http_methods(["GET", "HEAD", "POST"])
def commit_branch(
    request: HttpRequest, bridge: str, link: str, xid: str
) -> HttpResponse:
    """Explain the commit, and do it when it is confirmed."""
    return decided(request, CommitForm, bridge=bridge, link=link, xid=xid)


@require_http_methods(["GET", "HEAD", "POST"])
def roll_back_branch(
    request: HttpRequest, bridge: str, link: str, xid: str
) -> HttpResponse:
    """Explain the rollback, and do it when it is confirmed."""
    return decided(request, RollBackForm, bridge=bridge, link=link, xid=xid)


def decided(request: HttpRequest, kind: type[ActForm], **about: str) -> HttpResponse:
    """Confirm on GET; on POST end the branch."""
    acts.require(request.user, kind.declaration.request(**about))
    branch = find_branch(EVERYTHING, **about)
    form = kind(request.POST if request.method == "POST" else None)
    if form.is_valid() and (answer := form.carry_out(request, **about)):
        said = gettext("The transaction %(xid)s is rolled back there.")
        if answer.committed:
            said = gettext("The transaction %(xid)s is committed there.")
        messages.success(request, said % {"xid": branch.xid})
        return redirect_to(branch.link)
    (row,) = rows.rows_of([branch.link])
    commits = kind is CommitForm
    context = {"row": row, "branch": branch, "commits": commits, "form": form}
    status = 422 if form.errors else 200
    return render(request, "console/bridges/decide.html", context, status=status)
