"""Which dead letters a page means: one reading of its query for its list, its counts
and its plan, so that what is done is what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django import forms

from broker.models import DeadLetter, Queue
from broker.monitoring import dead_letter_groups
from broker.monitoring.dead_letters import NEWEST, DeadLetterCount, Selection
from broker.security import authorities

LARGEST = 2**31 - 1  # id of a queue
WORDS = 120  # characters of an error that stand in a scope


class PageForm(forms.Form):
    """Where a page of a list begins: after this id, on the way down."""

    after = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)


class SelectionForm(PageForm):
    """What a page's query may say. What it does not say selects by nothing."""

    fingerprint = forms.RegexField(r"^[0-9a-f]{12}$", required=False)
    queue = forms.CharField(max_length=255, required=False, strip=False)
    cause = forms.ChoiceField(
        choices=[("", "any cause"), *DeadLetter.Cause.choices], required=False
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


class PlanForm(SelectionForm):
    """What is to be resubmitted: one message, or a selection."""

    message = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)


def names_for(user: authorities.Principal) -> dict[int, str]:
    """The queues that a person may look at: their names, by id."""
    names = dict(Queue.objects.values_list("pk", "name"))
    seen = authorities.allowed(user, "inquire", names.values())
    return {pk: name for pk, name in names.items() if name in seen}


def seen_by(selection: Selection, names: Mapping[int, str]) -> Selection:
    """What a person sees of a selection, who sees these queues."""
    return replace(selection, within=tuple(names))


def fields_of(selection: Selection) -> dict[str, object]:
    """The query that selects the same, as a form sends it."""
    pairs = {
        "fingerprint": selection.fingerprint,
        "queue": selection.origin_queue,
        "cause": selection.cause,
        "on": selection.queue_id,
    }
    return {name: value for name, value in pairs.items() if value is not None}


def matches(group: DeadLetterCount, selection: Selection) -> bool:
    """Whether a group is selected; it never is in part."""
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


def in_words(selection: Selection, names: Mapping[int, str]) -> str:
    """A selection as the record of an operation has it. At most one query.

    Args:
        selection: of dead letters.
        names: the queues that whoever reads it may look at: their names, by id.
    """
    words = "all dead letters"
    if selection.origin_queue:
        words += f" of {selection.origin_queue}"
    if on := names.get(selection.queue_id or 0):
        words += f" on {on}"
    if selection.cause:
        words += f", {DeadLetter.Cause(selection.cause).label}"
    if selection.fingerprint:
        error = (
            dead_letter_groups.pattern_of(selection.fingerprint, names)
            or "no error text"
        )
        words += f", with “{error[:WORDS]}{'…' if len(error) > WORDS else ''}”"
    return words
