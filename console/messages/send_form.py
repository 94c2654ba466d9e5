"""The form of a message to send: body, headers, and properties with types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import starmap
from math import isfinite
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from broker.client import NewMessage
from broker.formats.lossless_json import Number
from broker.formats.quantities import read_duration, write_size
from broker.formats.text import text_of
from broker.settlement.redelivery_policy import LONGEST_MS
from console.messages.repair_form import Sheet
from console.runtime.request_size import most

TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"
ROWS = 3  # empty rows for properties
MOST_ROWS = 100
LARGEST_INTEGER = 2**63 - 1
TYPES = (  # types of the values of properties
    gettext_noop("text"),
    gettext_noop("integer"),
    gettext_noop("decimal"),
    gettext_noop("boolean"),
)
TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """One property as it was typed."""

    name: str = ""
    type: str = "text"
    text: str = ""
    error: str = ""  # why the row is not a property, as a sentence

    @property
    def value(self) -> str | int | float | bool:
        """
        Raises:
            ValueError: the text is no value of the type; the message says what to type.
        """
        typed = self.text.strip()
        try:
            match self.type:
                case "boolean":
                    return TRUTHS[typed.lower()]
                case "integer":
                    return whole(typed)
                case "decimal":
                    return finite(typed)
        except (KeyError, ValueError):
            raise ValueError(WANTED[self.type]) from None
        return self.text


WANTED = {
    "boolean": gettext_noop("Type true or false."),
    "integer": gettext_noop("Type a whole number of at most 64 bits."),
    "decimal": gettext_noop("Type a number, such as 0.5."),
}


def whole(text: str) -> int:
    number = int(text)
    if not -LARGEST_INTEGER - 1 <= number <= LARGEST_INTEGER:
        raise ValueError(text)
    return number


def finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


class Duration(forms.CharField):
    """A duration with a unit, such as ``10 min``; cleaned to milliseconds, or None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=100, **kwargs)

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            ms = read_duration(text, "ms")
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        if not 0 < ms <= LONGEST_MS:
            why = gettext("It must be longer than 0, and not so long.")
            raise forms.ValidationError(why)
        return ms


def word(label: str, help_text: str = "") -> forms.CharField:
    """A text on one line. What it is called is marked where it is declared."""
    return forms.CharField(
        label=gettext_lazy(label),
        required=False,
        max_length=1024,
        help_text=help_text and gettext_lazy(help_text),
    )


class SendForm(forms.Form):
    """What a person types; ``rows`` are the properties."""

    body = forms.CharField(
        label=gettext_lazy("Text"),
        required=False,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "mono", "spellcheck": "false"}
        ),
    )
    file = forms.FileField(
        label=gettext_lazy("Or a file"),
        required=False,
        allow_empty_file=True,
        help_text=gettext_lazy("Any bytes."),
    )
    content_type = forms.CharField(
        label=gettext_lazy("Content type"),
        max_length=255,
        required=False,
        widget=forms.TextInput(attrs={"list": "content-types", "autocomplete": "off"}),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"), min_value=0, max_value=9, initial=4
    )
    correlation_id = word(gettext_noop("Correlation id"))
    reply_to = word(gettext_noop("Reply to"), gettext_noop("The address for answers."))
    subject = word(
        gettext_noop("Type"), gettext_noop("JMSType, or the subject in AMQP.")
    )
    expiry = Duration(
        label=gettext_lazy("Expires after"),
        help_text=gettext_lazy("Such as 10 min. Empty: never."),
    )
    delay = Duration(
        label=gettext_lazy("Delivery delay"),
        help_text=gettext_lazy("Such as 30 s. Empty: delivered at once."),
    )
    durable = forms.BooleanField(
        label=gettext_lazy("Persistent"), required=False, initial=True
    )

    def __init__(
        self, said: QueryDict | None = None, files: Any = None, **more: Any
    ) -> None:
        self.rows = list(typed(said)) if said is not None else []
        super().__init__(said, files, **more)
        help_text = gettext("Text, or a file, of at most %(size)s.")
        self.fields["body"].help_text = help_text % {"size": size_limit()}
        help_text = gettext("Empty: %(type)s, or the type of the file.")
        self.fields["content_type"].help_text = help_text % {"type": TEXT}

    @property
    def filled_rows(self) -> list[PropertyRow]:
        """The rows with a property, and some empty ones."""
        return [*self.rows, *[PropertyRow()] * ROWS]

    @property
    def headers(self) -> list[forms.BoundField]:
        """The fields of headers that are texts or numbers."""
        names = ("priority", "subject", "correlation_id", "reply_to", "expiry", "delay")
        return [self[name] for name in names]

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        self.rows = list(checked(self.rows))
        if any(row.error for row in self.rows):
            self.add_error(None, gettext("A property is wrong; see below."))
        if said.get("body") and said.get("file") is not None:
            self.add_error("file", gettext("Give a text or a file, not both."))
        if not self.errors:
            said["octets"], said["content_type"] = self.body_of(said)
        return said

    def body_of(self, said: dict[str, Any]) -> tuple[bytes, str]:
        """The bytes of the body, and their content type."""
        file: UploadedFile | None = said.get("file")
        kind: str = said["content_type"]
        if file is not None:
            return file.read(), kind or file.content_type or BYTES
        # A browser sends each line end as CR LF.
        text = said["body"].replace("\r\n", "\n")
        kind = kind or TEXT
        try:
            return text_of(b"", kind).written(text), kind
        except ValueError as error:
            why = gettext("A text cannot be sent as this type: %(error)s. Send a file.")
            self.add_error("content_type", why % {"error": error})
        return b"", kind

    def message(self, address: str, *, producer: str, now: datetime) -> NewMessage:
        """The message of a valid form; ``now`` begins its delay and its expiry."""
        said = self.cleaned_data
        return NewMessage(
            address,
            said["octets"],
            content_type=said["content_type"],
            properties={row.name: row.value for row in self.rows},
            priority=said["priority"],
            durable=said["durable"],
            expires_at=after(now, said["expiry"]),
            deliver_at=after(now, said["delay"]),
            correlation_id=said["correlation_id"] or None,
            reply_to=said["reply_to"] or None,
            subject=said["subject"] or None,
            producer=producer,
        )


def after(now: datetime, ms: int | None) -> datetime | None:
    return None if ms is None else now + timedelta(milliseconds=ms)


def size_limit() -> str:
    """The largest body of a form: both the broker and the console have a limit."""
    limit = min(settings.BROKER_MAX_MESSAGE_BYTES, most())
    return write_size(limit, exact=True)


def typed(said: QueryDict) -> Iterator[PropertyRow]:
    """The rows of a form that are not empty."""
    names, types, texts = (
        said.getlist(f"property_{one}")[:MOST_ROWS] for one in ("name", "type", "value")
    )
    for name, kind, text in zip(names, types, texts, strict=False):
        if name.strip() or text:
            known = kind if kind in TYPES else "text"
            yield PropertyRow(name.strip(), known, text)


def checked(rows: list[PropertyRow]) -> Iterator[PropertyRow]:
    """The rows, each with its error."""
    seen: set[str] = set()
    for row in rows:
        error = ""
        if not row.name or not row.name.isprintable():
            error = gettext("A property needs a name of visible characters.")
        elif row.name in seen:
            error = gettext("There is a property of this name above.")
        elif "\0" in row.text:
            error = gettext("A value cannot have a NUL character.")
        else:
            try:
                row.value  # noqa: B018  # its error is wanted
            except ValueError as fault:
                error = gettext(str(fault))
        seen.add(row.name)
        yield replace(row, error=error)


def like(sheet: Sheet, **headers: Any) -> SendForm:
    """A form with the text, headers and properties of another message."""
    said = sheet.subject.headers
    names = ("subject", "correlation-id", "reply-to", "content-type")
    copied = {name.replace("-", "_"): said.get(name, "") for name in names}
    body = sheet.text.text if sheet.text else ""
    form = SendForm(initial=copied | {"body": body} | headers)
    form.rows = [row for row in starmap(row_of, sheet.properties.items()) if row]
    return form


def row_of(name: str, value: Any) -> PropertyRow | None:
    """The row of a property; None if its value is null, a list or an object."""
    match value:
        case str():
            return PropertyRow(name, "text", value)
        case bool():
            return PropertyRow(name, "boolean", str(value).lower())
        case Number():
            is_whole = value.text.lstrip("-").isdigit()
            return PropertyRow(name, "integer" if is_whole else "decimal", value.text)
    return None
