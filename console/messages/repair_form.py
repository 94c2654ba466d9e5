"""The repair form: a message as editable fields, and the user's changes.

Only changed fields are taken from the form. Values that a browser cannot return
unchanged are left out, or corrected here.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_noop

from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json
from broker.formats.patches import FIELDS, HeaderOperation, Repair, Subject, is_own
from broker.formats.patches.headers import PROPERTY, Headers, read, same
from broker.formats.quantities import write_count
from broker.formats.text import Text, with_ends_of
from broker.operations import Edit
from console.bodies.pretty_print import indented_xml

LONGEST = 512 * 2**10  # characters of a body in a form
SENSITIVE = {  # headers, and why a change of each needs care
    "correlation-id": gettext_noop("The receiver of an answer finds it by this."),
    "reply-to": gettext_noop("Answers go there."),
    "group-id": gettext_noop("Messages of a group are kept in order by this."),
    "content-type": gettext_noop("Consumers read the body by this."),
}
ORDER = ("subject", "content-type", "correlation-id", "reply-to", "group-id")


@dataclass(frozen=True, slots=True)
class Locked:
    """A field that is shown and cannot be edited."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """The editable and the locked parts of a message."""

    subject: Subject
    text: Text | None  # None: the body cannot be edited
    why_no_text: str = ""
    locked: list[Locked] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The editable headers."""
        shut = {one.name for one in self.locked}
        return [name for name in ORDER if name not in shut]

    @property
    def has_properties(self) -> bool:
        return not self.subject.is_locked

    @property
    def properties(self) -> Headers:
        """The editable properties."""
        if self.subject.is_locked:
            return {}
        return {
            name.removeprefix(PROPERTY): value
            for name, value in self.subject.headers.items()
            if name not in FIELDS and not is_own(name)
        }


def sheet_of(subject: Subject) -> Sheet:
    """Divide a message into editable and locked parts."""
    text, why = None, ""
    if subject.body is None:
        why = gettext("it is longer than 1 MiB")
    else:
        try:
            text = subject.text_of(subject.body)
        except ValueError as error:
            why = str(error)
    if text is not None and len(text.text) > LONGEST:
        text, longest = None, write_count(LONGEST)
        why = gettext("it has more than %(n)s characters") % {"n": longest}
    return Sheet(subject, text, why, list(locked(subject)))


def locked(subject: Subject) -> Iterator[Locked]:
    for name, value in subject.headers.items():
        told = str(value) if name in FIELDS else lossless_json.dumps(value)
        if is_own(name):
            yield Locked(name, told, gettext("The broker writes it."))
        elif subject.is_locked or name in subject.locked:
            yield Locked(name, told, gettext("It is in IBM MQ’s headers, too."))
        elif name in FIELDS and not is_typable(told):
            why = gettext("It holds line ends, which a form would change.")
            yield Locked(name, told, why)
    if subject.is_locked:
        for name in sorted(FIELDS.keys() - subject.headers.keys()):
            yield Locked(name, "–", gettext("It is in IBM MQ’s headers, too."))


def is_typable(text: str) -> bool:
    return not any(one in text for one in "\r\n\0")


class EditForm(forms.Form):
    """The user's input; blanks are kept."""

    body = forms.CharField(required=False, strip=False, max_length=2 * LONGEST)
    properties = forms.CharField(required=False, strip=False, max_length=LONGEST)
    reason = forms.CharField(required=False, max_length=500)
    seen = forms.CharField(required=False, max_length=64)

    def __init__(self, said: Any = None, *, sheet: Sheet) -> None:
        self.sheet = sheet
        typed = sheet.text.text if sheet.text else ""
        initial = {name: sheet.subject.headers.get(name, "") for name in sheet.names}
        initial |= {"body": typed, "properties": readable(sheet.properties)}
        super().__init__(said, initial=initial)
        for name in sheet.names:
            self.fields[name] = forms.CharField(
                required=False, strip=False, max_length=4000
            )

    @property
    def headers(self) -> Iterator[tuple[forms.BoundField, str]]:
        """The editable headers, each with a warning if a change needs care."""
        for name in self.sheet.names:
            caution = SENSITIVE.get(name)
            yield self[name], gettext(caution) if caution else ""

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if self.errors:
            return said
        said["edit"] = Edit(tuple(self.header_operations(said)), self.new_body(said))
        nothing = not said["edit"].headers and said["edit"].body is None
        if not self.errors and nothing:
            raise forms.ValidationError(
                gettext("Nothing is changed. To send it as it is, resubmit it.")
            )
        return said

    def new_body(self, said: dict[str, Any]) -> bytes | None:
        """The bytes of the edited body; None if it is unchanged."""
        text = self.sheet.text
        if text is None:
            return None
        typed = with_ends_of(text.text, said["body"])
        try:
            body = text.written(typed)
        except ValueError as error:
            why = gettext("This cannot be written as it is declared: %(error)s.")
            self.add_error("body", why % {"error": error})
            return None
        return None if body == self.sheet.subject.body else body

    def header_operations(self, said: dict[str, Any]) -> Iterator[HeaderOperation]:
        before = self.sheet.subject.headers
        for name in self.sheet.names:
            was, typed = before.get(name), said[name]
            if typed == (was or ""):
                continue
            if typed == "" and name == "content-type":
                self.add_error(name, gettext("Every message has a content type."))
            elif typed == "":
                yield HeaderOperation("remove", name)
            else:
                yield from self.checked(name, name, typed)
        if self.sheet.has_properties:
            yield from self.property_operations(said["properties"])

    def property_operations(self, typed: str) -> Iterator[HeaderOperation]:
        try:
            after = lossless_json.loads(typed.strip() or "{}")
        except ValueError as error:
            why = gettext("This is not JSON: %(error)s.") % {"error": error}
            self.add_error("properties", why)
            return
        if not isinstance(after, dict):
            why = gettext('Write one object: {"name": "value"}.')
            self.add_error("properties", why)
            return
        before = self.sheet.properties
        for name in before:
            if name not in after:
                yield HeaderOperation("remove", PROPERTY + name)
        for name, value in after.items():
            if name not in before or not same(before[name], value):
                yield from self.checked("properties", PROPERTY + name, value)

    def checked(self, where: str, name: str, value: Any) -> Iterator[HeaderOperation]:
        try:
            yield read({"op": "set", "name": name, "value": value}, name)
        except InvalidPatch as error:
            self.add_error(where, f"{name}: {error.why}.")


def readable(properties: Headers) -> str:
    """Properties as JSON with all characters visible."""
    if not properties:
        return "{}"
    written = lossless_json.dumps(properties, lossless_json.INDENTED)
    return "".join(
        one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1]
        for one in written
    )


def repaired(subject: Subject, repair: Repair) -> Subject:
    """The message as its copy will be."""
    headers = {
        name: value
        for name, value in subject.headers.items()
        if name not in repair.without
    }
    body = subject.body if repair.body is None else repair.body
    return Subject(headers | dict(repair.headers), body, coding=subject.coding)


def for_parser(subject: Subject, body: bytes) -> bytes:
    """A body of IBM MQ in UTF-8, which a mark tells the parser; others as they are."""
    if subject.coding is None:
        return body
    return codecs.BOM_UTF8 + subject.text_of(body).text.encode()


def seal_of(edit: Edit) -> str:
    """A digest of the edit: only an edit that was shown can be sent."""
    said = lossless_json.dumps([one.document for one in edit.headers])
    body = b"" if edit.body is None else b"=" + edit.body
    return hashlib.sha256(said.encode("utf-8", "surrogatepass") + body).hexdigest()


def fault_of(after: Subject) -> str:
    """Why a body does not fit its content type; empty if it does, or if no check
    exists.
    """
    name = after.content_type.partition(";")[0].strip().lower()
    try:
        if after.body and name.endswith("json"):
            lossless_json.loads(after.text_of(after.body).text)
        elif after.body and name.endswith("xml"):
            indented_xml(for_parser(after, after.body))
    except ValueError as error:
        return gettext(
            "The body is declared as %(type)s, but does not read so: %(error)s."
        ) % {"type": name, "error": error}
    return ""
