"""The form of a new operation: its kind, and its messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy, ngettext

from broker.acts.operations.planning import MOST, PLACES, PlanOperation
from broker.models import Operation
from broker.monitoring.dead_letters import NEWEST
from console.edges.web.forms import ReadField
from console.messages.dead_letter_query import LARGEST
from console.operations.words import WORDS

UNCHOSEN = Operation.Kind.RESUBMIT  # the kind until the user chooses another
TICKED, ALL = "ticked", "all"


def too_many() -> forms.ValidationError:
    text = ngettext(
        "Select at most %(n)s message.", "Select at most %(n)s messages.", MOST
    )
    return forms.ValidationError(text % {"n": MOST})


class Ids(forms.Field):
    """Ticked messages, by number."""

    def to_python(self, value: Iterable[str] | None) -> tuple[int, ...]:
        try:
            ids = tuple(dict.fromkeys(int(one) for one in value or ()))
        except ValueError:
            raise forms.ValidationError(gettext("This is no message.")) from None
        if not all(0 < one <= NEWEST for one in ids):
            raise forms.ValidationError(gettext("There are no such numbers."))
        if len(ids) > MOST:
            raise too_many()
        return ids

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {}


class ChosenForm(forms.Form):
    """Messages of one queue: some by number, or all in one state."""

    which = forms.ChoiceField(choices=[(TICKED, ""), (ALL, "")])
    place = forms.ChoiceField(choices=[(one, "") for one in PLACES], required=False)
    message = Ids(widget=forms.MultipleHiddenInput, required=False)

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if said.get("which") == TICKED and not said.get("message", True):
            raise forms.ValidationError(gettext("Select at least one message first."))
        return said

    @property
    def is_of_all(self) -> bool:
        return bool(self.cleaned_data["which"] == ALL)

    @property
    def ids(self) -> tuple[int, ...]:
        return () if self.is_of_all else self.cleaned_data["message"]

    def order_on(self, queue: str) -> PlanOperation:
        return PlanOperation(
            UNCHOSEN,
            source=queue,
            messages=self.ids or None,
            place=self.cleaned_data["place"] or None,
        )

    @property
    def pairs(self) -> list[tuple[str, object]]:
        """The form fields that choose the same messages again."""
        said = self.cleaned_data
        pairs: list[tuple[str, object]] = [
            ("which", said["which"]),
            ("place", said["place"]),
        ]
        return pairs + [("message", one) for one in self.ids]


class Entries(forms.Field):
    """Ticked entries: message and queue."""

    def to_python(self, value: Iterable[str] | None) -> tuple[tuple[int, int], ...]:
        entries = tuple(dict.fromkeys(entry_of(one) for one in value or ()))
        if len(entries) > MOST:
            raise too_many()
        return entries

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {}


def entry_of(item: str) -> tuple[int, int]:
    """The message and the queue of a checkbox."""
    message_id, _, queue_id = item.partition(".")
    try:
        entry = int(message_id), int(queue_id)
    except ValueError:
        raise forms.ValidationError(gettext("This is no message.")) from None
    if not (0 < entry[0] <= NEWEST and 0 < entry[1] <= LARGEST):
        raise forms.ValidationError(gettext("There are no such numbers."))
    return entry


class FoundForm(forms.Form):
    """Messages that a filter finds: some of them, or all."""

    which = forms.ChoiceField(choices=[(TICKED, ""), (ALL, "")])
    item = Entries(widget=forms.MultipleHiddenInput, required=False)

    def __init__(self, said: QueryDict, *, is_filtered: bool) -> None:
        super().__init__(said)
        self.is_filtered = is_filtered

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if said.get("which") == TICKED and not said.get("item", True):
            raise forms.ValidationError(gettext("Select at least one message first."))
        if said.get("which") == ALL and not self.is_filtered:
            text = gettext("Filter first, to act on all that match.")
            raise forms.ValidationError(text)
        return said

    @property
    def is_of_all(self) -> bool:
        return bool(self.cleaned_data["which"] == ALL)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        found: tuple[tuple[int, int], ...] = self.cleaned_data["item"]
        return () if self.is_of_all else found

    def order_of(self, texts: Iterable[str], names: Mapping[int, str]) -> PlanOperation:
        """An order for these messages.

        Args:
            texts: of the filter.
            names: queues that the user may inquire, by id.
        """
        if self.is_of_all:
            return PlanOperation(UNCHOSEN, filter=tuple(texts))
        entries = (f"{one}@{names.get(queue, '')}" for one, queue in self.entries)
        return PlanOperation(UNCHOSEN, entries=tuple(entries))

    @property
    def pairs(self) -> list[tuple[str, object]]:
        """The form fields that choose the same messages again, beside the filter."""
        ticked = [("item", f"{message}.{queue}") for message, queue in self.entries]
        return [("which", self.cleaned_data["which"]), *ticked]


class OrderForm(forms.Form):
    """The kind of the operation and its options."""

    kind = forms.ChoiceField(
        choices=Operation.Kind.choices,
        error_messages={"required": gettext_lazy("Choose an action.")},
    )
    to = forms.CharField(max_length=255, required=False)
    priority = forms.IntegerField(
        min_value=0,
        max_value=9,
        required=False,
        error_messages={"invalid": gettext_lazy("0 to 9.")},
    )
    due_at = ReadField(datetime, required=False)
    every_queue = forms.BooleanField(required=False)
    selector = forms.CharField(max_length=4000, required=False)

    def __init__(self, said: QueryDict | None = None, *, offers: Iterable[str]) -> None:
        super().__init__(said)
        offered = set(offers)
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [one for one in Operation.Kind.choices if one[0] in offered]

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        asks = self.asks
        if asks == "queue" and not said.get("to") and "to" not in self.errors:
            self.add_error("to", gettext("Choose a queue."))
        missing = said.get("priority") is None and "priority" not in self.errors
        if asks == "priority" and missing:
            self.add_error("priority", gettext("Choose a priority, from 0 to 9."))
        if asks == "time" and not said.get("due_at") and "due_at" not in self.errors:
            self.add_error("due_at", gettext("Enter the time at which they are due."))
        return said

    @property
    def asks(self) -> str:
        kind = self.cleaned_data.get("kind")
        return WORDS[kind].asks if kind else ""

    def complete(self, what: PlanOperation) -> PlanOperation:
        """An order for the same messages, with the kind and its options."""
        said = self.cleaned_data
        return replace(
            what,
            kind=Operation.Kind(said["kind"]),
            queue=said["to"],
            priority=said["priority"],
            due_at=said["due_at"],
            every_queue=said["every_queue"],
            selector=said["selector"] if what.source else "",
        )
