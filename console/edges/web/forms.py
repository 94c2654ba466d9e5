"""Forms of pages from requests of acts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from broker.acts import ActField, DeclaredAct, act
from broker.errors import BrokerError
from broker.errors.acts import InvalidRequest
from console.edges import denials
from console.edges.reading import READERS

LONGEST = 60  # the most characters of a value that is no text, such as a time


class ReadField(forms.Field):
    """A text that is read as something else."""

    def __init__(self, kind: type, **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind

    def to_python(self, value: Any) -> Any:
        text = (value or "").strip()
        if len(text) > LONGEST:
            words = gettext("Write at most %(most)s characters.")
            raise ValidationError(words % {"most": LONGEST})
        try:
            return READERS[self.kind](text)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class ActForm(forms.Form):
    """What a person types of a request; ``carry_out`` orders it."""

    declaration: DeclaredAct
    shown: tuple[type[BrokerError], ...]  # errors that the form shows

    def carry_out(self, request: HttpRequest, **values: Any) -> Any:
        """Order the act; return its answer, or None if a field is refused, which the
        form then says.

        Args:
            request: of whom.
            values: the fields that are not typed.

        Raises:
            BrokerError: as ``act``.
        """
        try:
            return self.order(request, **values)
        except self.shown as error:
            denials.note(request, error)
            for name, why in getattr(error, "faults", [("", str(error))]):
                self.add_error(name if name in self.fields else None, why)
            return None

    def order(self, request: HttpRequest, **values: Any) -> Any:
        """Order the act, from a page that does not show the form again.

        Raises:
            InvalidRequest: a field is refused, or cannot be read.
            BrokerError: as ``act``.
        """
        if not self.is_valid():
            faults = self.errors.items()
            raise InvalidRequest(
                tuple((name, " ".join(map(str, why))) for name, why in faults)
            )
        typed = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.cleaned_data.items()
            if value not in (None, "", [])  # an empty field gets its default
        }
        return act(request.user, self.declaration.request(**values, **typed))


def form_of(
    one: DeclaredAct,
    *given: str,
    shown: tuple[type[BrokerError], ...] = (),
    **errors: str,
) -> type[ActForm]:
    """A form with the fields of a request, but for those that the page knows.

    Args:
        one: the act.
        given: names of fields that nobody types.
        shown: errors that the form shows; others get a page of their own.
        errors: what is said where nothing is chosen, by field.
    """
    typed = {
        field.name: form_field(field, errors.get(field.name, ""))
        for field in one.fields
        if field.name not in given
    }
    facts = {"declaration": one, "shown": (InvalidRequest, *shown)}
    return type("ActForm", (ActForm,), facts | typed)


def form_field(field: ActField, missing: str) -> forms.Field:
    options: dict[str, Any] = {
        "help_text": translated_later(field.holds.help),
        "required": field.is_required or bool(missing),
    }
    if missing:
        options["error_messages"] = {"required": translated_later(missing)}
    kind: type[forms.Field] = forms.CharField
    if field.type is bool:
        kind, options["required"] = forms.BooleanField, False
    elif field.type is int:
        kind = forms.IntegerField
    elif field.type in READERS:
        kind, options["kind"] = ReadField, field.type
    elif field.choices:
        kind = forms.MultipleChoiceField if field.has_many else forms.ChoiceField
        options["choices"] = [(one, one) for one in field.choices]
    return kind(**options)


def translated_later(text: str) -> Any:
    """A declared text, in the language of each reader; an empty one stays empty."""
    return gettext_lazy(text) if text else ""
