"""The selection of dead letters in a page's query. List, counts and plan read it with
the same code, so an operation acts on exactly what was listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django import forms

from broker import operations
from broker.models import DeadLetter
from broker.monitoring import dead_letter_groups, visible_groups
from broker.monitoring.dead_letters import NEWEST, DeadLetterCount, Selection
from broker.monitoring.numbers import public_number
from broker.security import authorities

LARGEST = 2**31 - 1  # the largest id of a queue
WORDS = 120  # characters of an error in a description


class PageForm(forms.Form):
    """Where a page begins: after this id, descending."""

    after = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)


class SelectionForm(PageForm):
    """The filters of a page's query. Missing ones do not filter."""

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
    """The dead letters to resubmit: one message, or a selection."""

    message = forms.IntegerField(min_value=1, max_value=NEWEST, required=False)
    every_queue = forms.BooleanField(required=False)
    repair = forms.BooleanField(required=False)  # with a patch, which comes next


def names_for(user: authorities.Principal) -> dict[int, str]:
    """Queues that the user may inquire: names by id."""
    return visible_groups.queues_for(authorities.held_by(user))


def visible_part(selection: Selection, names: Mapping[int, str]) -> Selection:
    """The part of a selection on queues that the user sees."""
    return replace(selection, within=tuple(names))


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


def one_in_words(message_id: int, names: Mapping[int, str]) -> str:
    """A description of one message: by its number, if an entry is on one of the queues
    that the user may see; otherwise by the id as given.

    Args:
        message_id: the id as given.
        names: of these queues, by id.
    """
    is_seen = message_id in operations.on_queues([message_id], names)
    return f"message {public_number(message_id) if is_seen else message_id}"


def in_words(selection: Selection, names: Mapping[int, str]) -> str:
    """A description of a selection for an operation's record. At most one query.

    Args:
        selection: of dead letters.
        names: queues that its readers may inquire: names by id.
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
