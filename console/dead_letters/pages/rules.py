"""Standing rules for dead letters: written as text, tried out, switched on, watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from broker import acts
from broker.acts.rules import (
    CHANGE,
    RulesState,
    SaveRules,
    SwitchRules,
    save_rules,
    switch_rules,
)
from broker.errors.messages import SearchTooLong
from broker.errors.rules import InvalidRules, RuleFault, RulesChanged
from broker.models import Queue, RulePass, RuleTable
from broker.monitoring.dead_letter_queues import takes_dead_letters
from broker.monitoring.numbers import public_numbers
from broker.operations import rules as standing
from broker.security import authorities
from console.edges import denials
from console.edges.web.forms import form_of
from console.layout import pagination
from console.messages.dead_letter_query import PageForm, names_for

PASSES = 20
WIDEST = 160  # characters shown of a line that has a fault
MODES = [
    (RuleTable.Mode.OFF, gettext_noop("Off"), gettext_noop("Passes do not run.")),
    (
        RuleTable.Mode.OBSERVE,
        gettext_noop("Observe"),
        gettext_noop(
            "Passes record what the rules would have done, and change nothing."
        ),
    ),
    (
        RuleTable.Mode.ACTIVE,
        gettext_noop("Act"),
        gettext_noop(
            "Passes do what the rules say, every ten seconds, with your authority."
        ),
    ),
]


SaveForm = form_of(
    save_rules,
    *("queue", "text"),
    revision=gettext_noop("Load the page again: it has no revision."),
)
SwitchForm = form_of(switch_rules, "queue")


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A fault, and its line in three parts: before the fault, the fault, the rest."""

    fault: RuleFault
    before: str
    at: str
    after: str


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def rules(request: HttpRequest) -> HttpResponse:
    """The tables of all queues that the user may see, and the queues without one."""
    names = names_for(request.user)
    tables = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    found = [one for one in tables.order_by("queue__name") if one.queue_id in names]
    has = {one.queue_id for one in found}
    others = Queue.objects.filter(takes_dead_letters(), pk__in=set(names) - has)
    context = {
        "tables": [(one, one.passes.first(), count(one)) for one in found],
        "others": others.order_by("name"),
        "may_change": request.user.has_perm(CHANGE),
    }
    return render(request, "console/dead_letters/rules/rules.html", context)


def count(row: RuleTable) -> int:
    return len(standing.parsed(row).rules)


@require_http_methods(["GET", "HEAD", "POST"])
def rule_table(request: HttpRequest, name: str) -> HttpResponse:
    """The rules of one queue: their text, their preview, and their results."""
    view = change_table if request.method == "POST" else show_table
    return view(request, name)


@permission_required("broker.view_queue", raise_exception=True)
def show_table(request: HttpRequest, name: str) -> HttpResponse:
    queue = get_object_or_404(Queue, name=name)
    authorities.require(request.user, "inquire", name)
    return render_rules(request, queue)


def change_table(request: HttpRequest, name: str) -> HttpResponse:
    """Check the typed rules, or save them if they are valid."""
    typed = request.POST.get("text", "").replace("\r\n", "\n")
    acts.require(request.user, SaveRules(name, typed))
    queue = get_object_or_404(Queue, name=name)
    if request.POST.get("deed") != "save":
        return render_rules(request, queue, typed)
    was_active = RuleTable.objects.filter(queue=queue, mode=RuleTable.Mode.ACTIVE)
    is_stopped = was_active.exists()
    try:
        saved = SaveForm(request.POST).order(request, queue=name, text=typed)
    except (InvalidRules, RulesChanged) as error:
        denials.note(request, error)
        if isinstance(error, InvalidRules):
            return render_rules(request, queue, typed, status=422)
        messages.error(request, str(error))
        return render_rules(request, queue, typed, status=409)
    words = gettext("The rules of %(queue)s are saved, as revision %(revision)s.") % {
        "queue": name,
        "revision": saved.revision,
    }
    if is_stopped and saved.mode != RuleTable.Mode.ACTIVE:
        words += " " + gettext(
            "They are only observed now: check what they would do, then let them act."
        )
    return done(request, saved, words)


@require_POST
def switch(request: HttpRequest, name: str) -> HttpResponse:
    """Switch the mode of rules: off, observe or act."""
    acts.require(request.user, SwitchRules(name, "off"))
    get_object_or_404(Queue, name=name)
    saved = SwitchForm(request.POST).order(request, queue=name)
    words = {mode.value: label for mode, label, _ in MODES}
    return done(request, saved, f"{name}: {gettext(words[saved.mode])}.")


def done(request: HttpRequest, saved: RulesState, words: str) -> HttpResponse:
    messages.success(request, words)
    for one in saved.warnings:
        messages.warning(request, one)
    return redirect("console:rule_table", saved.queue)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def export(request: HttpRequest, name: str) -> HttpResponse:
    """The rules as a file that IBM MQ's runmqdlq reads."""
    authorities.require(request.user, "inquire", name)
    text = standing.write(standing.parsed(standing.rules_of(name)))
    answer = HttpResponse(text, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="rules.tbl"'
    return answer


def render_rules(
    request: HttpRequest, queue: Queue, typed: str | None = None, *, status: int = 200
) -> HttpResponse:
    """The page of a rule table, with the saved or typed text, and its preview."""
    tables = RuleTable.objects.select_related("changed_by", "acts_for")
    kept = tables.filter(queue=queue).first()
    text = typed if typed is not None else kept.text if kept else ""
    faults: list[FaultLine] = []
    preview, why_not = None, ""
    if text.strip():
        try:
            preview = standing.preview(standing.read(text, queue=queue.name), queue)
        except InvalidRules as error:
            faults = [in_its_line(text, one) for one in error.faults]
        except SearchTooLong as error:
            why_not = str(error)
    samples = [id_ for one in preview.rules for id_ in one.sample] if preview else []
    context: dict[str, Any] = {
        "queue": queue,
        "numbers": public_numbers(samples),
        "table": kept,
        "text": text,
        "is_kept": kept is not None and kept.text == text,
        "rows": max(10, min(text.count("\n") + 3, 30)),
        "faults": faults,
        "preview": preview,
        "why_not": why_not,
        "modes": MODES,
        "may_change": request.user.has_perm(CHANGE)
        and authorities.may(request.user, "set", queue.name),
        **passes_of(request, kept),
    }
    return render(
        request, "console/dead_letters/rules/table.html", context, status=status
    )


def passes_of(request: HttpRequest, kept: RuleTable | None) -> dict[str, Any]:
    """A page of the results of passes, the newest first."""
    form = PageForm(request.GET)
    every = RulePass.objects.filter(table=kept) if kept else RulePass.objects.none()
    if form.is_valid() and form.cleaned_data["after"]:
        every = every.filter(pk__lt=form.cleaned_data["after"])
    found = list(every[: PASSES + 1])
    page = pagination.Trail.of(request)
    more = len(found) > PASSES
    return {
        "passes": found[:PASSES],
        "page": page,
        "next": page.then(str(found[PASSES - 1].pk)) if more else None,
    }


def in_its_line(text: str, fault: RuleFault) -> FaultLine:
    """A fault with the text around it."""
    lines = text.split("\n")
    line = lines[fault.line - 1] if fault.line <= len(lines) else ""
    place = fault.column - 1
    first = max(place - WIDEST // 2, 0)
    return FaultLine(
        fault,
        line[first:place],
        line[place : place + 1] or " ",
        line[place + 1 : first + WIDEST],
    )
