"""The selection of dead letters in a page's query. List, counts and plan read it with
the same code, so an operation acts on exactly what was listed.
"""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from broker.acts.operations.message_sets import DeadLetters
from broker.models import DeadLetter, Queue
from broker.monitoring import visible_groups
from broker.monitoring.dead_letters import NEWEST, DeadLetterCount, Selection
from broker.security import authorities

LARGEST = 2**31 - 1  # the largest id of a queue


class PageForm(forms.Form):
    """Where a page begins: after this id, descending."""

    after = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)


class SelectionForm(PageForm):
    """The filters of a page's query. Missing ones do not filter."""

    fingerprint = forms.RegexField(r"^[0-9a-f]{12}$", required=False)
    queue = forms.CharField(max_length=255, required=False, strip=False)
    cause = forms.ChoiceField(
        choices=[("", gettext_lazy("any cause")), *DeadLetter.Cause.choices],
        required=False,
    )
    on = forms.IntegerField(min_value=1, max_value=LARGEST, required=False)

    @property
    def selection(self) -> Selection:
        said = self.cleaned_data
        return Selection(
            said["fingerprint"] or None,
            said["queue"] or None,
            said["cause"] or None,
            said["on"],
        )

    @property
    def letters(self) -> DeadLetters:
        """The same selection, as requests of acts have it."""
        said = self.cleaned_data
        on = Queue.objects.filter(pk=said["on"]).values_list("name", flat=True)
        return DeadLetters(
            said["fingerprint"] or None,
            said["queue"] or None,
            (on.first() or "") if said["on"] else None,
            DeadLetter.Cause(said["cause"]) if said["cause"] else None,
        )


class PlanForm(SelectionForm):
    """The dead letters to resubmit: one message, or a selection."""

    message = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)
    every_queue = forms.BooleanField(required=False)
    repair = forms.BooleanField(required=False)  # whether the user then sets a patch


def names_for(user: authorities.Principal) -> dict[int, str]:
    """Queues that the user may inquire: names by id."""
    return visible_groups.queues_for(authorities.held_by(user))


def fields_of(selection: Selection) -> dict[str, object]:
    """The form fields that give the same selection."""
    pairs = {
        "fingerprint": selection.fingerprint,
        "queue": selection.origin_queue,
        "cause": selection.cause,
        "on": selection.queue_id,
    }
    return {name: value for name, value in pairs.items() if value is not None}


def matches(group: DeadLetterCount, selection: Selection) -> bool:
    """Whether a group is selected; a group is never selected in part."""
    if selection.within is not None and group.queue_id not in selection.within:
        return False
    return all(
        wanted is None or wanted == has
        for wanted, has in (
            (selection.fingerprint, group.fingerprint),
            (selection.origin_queue, group.origin_queue),
            (selection.cause, group.cause),
            (selection.queue_id, group.queue_id),
        )
    )
