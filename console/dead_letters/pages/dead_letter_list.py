"""Dead letters: in groups of one cause, and the letters of one group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from broker.acts.operations.siblings import Sibling, siblings_of
from broker.models import Operation
from broker.monitoring import dead_letter_groups
from broker.monitoring import dead_letters as triage
from broker.monitoring.dead_letters import DeadLetterCount
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.security.users import NAME, USERS
from broker.sql import database_now
from console.bodies import own_values
from console.layout import pagination
from console.messages.dead_letter_groups import (
    STANDINGS,
    Hours,
    cause_in_words,
    rows_in_state,
    rows_of,
    sums_by,
    sums_of,
)
from console.messages.dead_letter_query import (
    SelectionForm,
    fields_of,
    matches,
    names_for,
)
from dashboards.live import attention

PAGE = 50
KEYS = [
    ("fingerprint", gettext_noop("error")),
    ("queue", gettext_noop("queue")),
    ("cause", gettext_noop("cause")),
]


class ListForm(SelectionForm):
    """Which groups a list shows, and by what they are grouped."""

    by = forms.ChoiceField(choices=KEYS, required=False)
    standing = forms.ChoiceField(choices=STANDINGS, required=False)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def dead_letters(request: HttpRequest) -> HttpResponse:
    """All groups, or those of one queue, one cause or one standing."""
    form = ListForm(request.GET)
    if not form.is_valid():
        return redirect("console:dead_letters")
    names = names_for(request.user)
    seen = attention.newest()
    every = [group for group in seen.every if group.queue_id in names]
    chosen = [group for group in every if matches(group, form.selection)]
    standing = form.cleaned_data["standing"]
    every_row = rows_of(chosen, every, names, seen.trends(names), database_now())
    rows = rows_in_state(every_row, standing, request.user.pk)
    by = form.cleaned_data["by"] or "fingerprint"
    context = {
        "rows": rows,
        "siblings": siblings(request, chosen),
        "as_of": seen.at,
        "by": by,
        "keys": KEYS,
        "grouped": [] if by == "fingerprint" else sums_by(rows, by),
        "standing": standing,
        "standings": STANDINGS,
        "sums": sums_of([row.group for row in rows]),
        "every": sum(group.messages for group in every),
        "selection": form.selection,
        "fields": fields_of(form.selection),
        "origins": counted((group.origin_queue, group.messages) for group in every),
        "causes": [
            (cause, cause_in_words(cause), count)
            for cause, count in counted((one.cause, one.messages) for one in every)
        ],
    }
    return render(request, "console/dead_letters/dead_letters.html", context)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def dead_letter_group(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One group, its work state, and a page of its letters, the newest first."""
    return render_group(request, fingerprint)


def render_group(
    request: HttpRequest, fingerprint: str, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page of a group, with further context."""
    form = SelectionForm({**request.GET.dict(), "fingerprint": fingerprint})
    if "fingerprint" in form.errors:
        raise Http404(fingerprint)
    if not form.is_valid():
        return redirect(request.path)
    names = names_for(request.user)
    selection = replace(form.selection, within=tuple(names))
    seen = attention.newest()
    whole = [
        group
        for group in seen.every
        if group.fingerprint == fingerprint and group.queue_id in names
    ]
    pattern = (
        whole[0].pattern if whole else dead_letter_groups.pattern_of(fingerprint, names)
    )
    if pattern is None:
        raise Http404(fingerprint)
    chosen = [group for group in whole if matches(group, selection)]
    before = form.cleaned_data["after"] or triage.NEWEST
    letters = triage.letters(selection, before=before, limit=PAGE + 1)
    numbers = public_numbers(one.message_id for one in letters)
    page = pagination.Trail.of(request)
    context = {
        "fingerprint": fingerprint,
        "as_of": seen.at,
        "pattern": pattern,
        "sums": sums_of(chosen),
        "siblings": siblings(request, chosen),
        "fields": fields_of(form.selection),
        "lie_on": names.get(form.selection.queue_id or 0, ""),
        "letters": [(one, numbers[one.message_id]) for one in letters[:PAGE]],
        "own": own_values.of_list(
            request,
            [(one.message_id, names.get(one.queue_id, "")) for one in letters[:PAGE]],
        ),
        "page": page,
        "next": page.then(str(letters[PAGE - 1].message_id))
        if len(letters) > PAGE
        else None,
        **about(fingerprint, chosen, whole, names, seen.trends(names)),
        **more,
    }
    return render(request, "console/dead_letters/group.html", context, status=status)


def about(
    fingerprint: str,
    chosen: list[DeadLetterCount],
    whole: list[DeadLetterCount],
    names: Mapping[int, str],
    trends: Mapping[str, dead_letter_groups.Trend],
) -> dict[str, Any]:
    """The work state of a group, its growth, and its earlier resubmits."""
    at = database_now()
    said = dead_letter_groups.group_rows([fingerprint]).get(fingerprint)
    last = dead_letter_groups.last_resubmit(fingerprint, names)
    operation = None
    if last is not None:
        known = Operation.objects.select_related("created_by")
        operation = known.filter(pk=last.operation_id).first()
    rows = rows_of(chosen, whole, names, trends, at)
    return {
        "rows": rows,
        "said": said,
        "standing": dead_letter_groups.standing(said, whole, at),
        "hours": Hours(trends.get(fingerprint, dead_letter_groups.Trend())),
        "consumers": dead_letter_groups.consumers_of(fingerprint, names),
        "sample": dead_letter_groups.SAMPLE,
        "archived": dead_letter_groups.archived(fingerprint, names),
        "last": last,
        "last_operation": operation,
        "people": USERS.filter(is_active=True).order_by(NAME),
    }


def siblings(request: HttpRequest, groups: Iterable[DeadLetterCount]) -> list[Sibling]:
    """The other queues that a resubmit of groups reaches."""
    origins = {group.origin_queue for group in groups}
    return siblings_of(origins, authorities.held_by(request.user))


def counted(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The choices of a filter by name, each with its number of dead letters."""
    sums: Counter[str] = Counter()
    for name, count in pairs:
        sums[name] += count
    return sorted(sums.items())
