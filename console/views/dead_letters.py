"""Dead letters: in groups of one cause, and the letters of one group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from broker import triage
from broker.models import DeadLetter
from broker.triage import Group
from console import cursors
from console.selections import SelectionForm, fields_of, matches, names_for

PAGE = 50


@dataclass(frozen=True, slots=True)
class Row:
    """One group, as a list shows it."""

    group: Group
    on: str  # the name of the queue where its letters lie
    fields: dict[str, object]

    @property
    def cause(self) -> str:
        return cause_in_words(self.group.cause)

    @property
    def query(self) -> str:
        """What the group's URL says but for its fingerprint."""
        fields = dict(self.fields)
        fields.pop("fingerprint", None)
        return urlencode(fields)


@dataclass(frozen=True, slots=True)
class Sums:
    """What several groups come to."""

    messages: int
    first: datetime | None
    last: datetime | None
    most_resubmits: int


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def dead_letters(request: HttpRequest) -> HttpResponse:
    """All groups, or those of one queue or one cause."""
    form = SelectionForm(request.GET)
    if not form.is_valid():
        return redirect("console:dead_letters")
    names = names_for(request.user)
    every = [group for group in triage.groups() if group.queue_id in names]
    chosen = [group for group in every if matches(group, form.selection)]
    context = {
        "rows": rows_of(chosen, names),
        "sums": sums_of(chosen),
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
    """One group, and a page of its letters, the newest first."""
    form = SelectionForm({**request.GET.dict(), "fingerprint": fingerprint})
    if "fingerprint" in form.errors:
        raise Http404(fingerprint)
    if not form.is_valid():
        return redirect(request.path)
    names = names_for(request.user)
    selection = replace(form.selection, within=tuple(names))
    chosen = [group for group in triage.groups() if matches(group, selection)]
    before = form.cleaned_data["after"] or triage.NEWEST
    letters = triage.letters(selection, before=before, limit=PAGE + 1)
    page = cursors.Trail.of(request)
    context = {
        "fingerprint": fingerprint,
        "pattern": pattern_of(fingerprint, chosen, names),
        "rows": rows_of(chosen, names),
        "sums": sums_of(chosen),
        "fields": fields_of(form.selection),
        "letters": letters[:PAGE],
        "page": page,
        "next": page.then(str(letters[PAGE - 1].message_id))
        if len(letters) > PAGE
        else None,
    }
    return render(request, "console/dead_letters/group.html", context)


def rows_of(groups: list[Group], names: Mapping[int, str]) -> list[Row]:
    return [
        Row(group, names.get(group.queue_id, ""), fields_of(group.selection))
        for group in groups
    ]


def sums_of(groups: list[Group]) -> Sums:
    return Sums(
        sum(group.messages for group in groups),
        min((group.first_died_at for group in groups), default=None),
        max((group.last_died_at for group in groups), default=None),
        max((group.most_resubmits for group in groups), default=0),
    )


def counted(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """What there is to choose from, by name, each with its dead letters."""
    sums: Counter[str] = Counter()
    for name, count in pairs:
        sums[name] += count
    return sorted(sums.items())


def cause_in_words(cause: str) -> str:
    return dict(DeadLetter.Cause.choices).get(cause, cause)


def pattern_of(fingerprint: str, groups: list[Group], names: Mapping[int, str]) -> str:
    """What the errors of a group have in common, also of one that is empty now."""
    if groups:
        return groups[0].pattern
    alike = DeadLetter.objects.filter(fingerprint=fingerprint, queue_id__in=names)
    return alike.values_list("pattern", flat=True).first() or ""
