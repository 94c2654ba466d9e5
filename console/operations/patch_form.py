"""The patch form of a plan, and how a patch begins at a value of a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from jsonpointer import JsonPointer

from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json
from broker.formats.patches import FIELDS
from broker.formats.patches.documents import LONGEST, read_patch
from console.operations.patch_example import PatchExample, Place

ROWS = 6  # header operations in the form
PARTS = ("op", "name", "value")  # the fields of each
OPS = [
    ("", "–"),
    ("test", gettext_lazy("only if it is")),
    ("set", gettext_lazy("set to")),
    ("remove", gettext_lazy("remove")),
    ("rename", gettext_lazy("rename to")),
]
HOWS = [
    ("", gettext_lazy("as it is")),
    ("merge", gettext_lazy("JSON merge patch: what changes, by name")),
    ("patch", gettext_lazy("JSON patch: a list of operations")),
]


class PatchForm(forms.Form):
    """The changes to make in each message."""

    how = forms.ChoiceField(choices=HOWS, required=False)
    body = forms.CharField(required=False, strip=False, max_length=LONGEST)

    def __init__(
        self,
        said: Any = None,
        *,
        document: str = "",
        is_open: bool = False,
        typed: Mapping[str, str] | None = None,
        fault: str = "",
        focus: str = "body",
    ) -> None:
        """Args:
        said: what was sent, to be checked.
        document: a stored patch to show.
        is_open: whether the form is unfolded.
        typed: what to show in the fields, unchecked.
        fault: why the patch does not begin where the user chose.
        focus: name of the field in which the user types next, if the form is unfolded.
        """
        self.is_open, self.is_new = is_open, not document
        self.fault, self.focus = fault, focus if is_open else ""
        super().__init__(said, initial=dict(typed or initial_of(document)))
        for number in range(ROWS):
            self.fields[f"op_{number}"] = forms.ChoiceField(choices=OPS, required=False)
            for name in (f"name_{number}", f"value_{number}"):
                self.fields[name] = forms.CharField(
                    required=False, strip=False, max_length=16 * 2**10
                )

    @property
    def rows(self) -> Iterator[list[forms.BoundField]]:
        """The fields of each header operation."""
        for number in range(ROWS):
            yield [self[f"{one}_{number}"] for one in PARTS]

    @property
    def first(self) -> list[forms.BoundField]:
        return next(self.rows)

    @property
    def others(self) -> list[list[forms.BoundField]]:
        return list(self.rows)[1:]

    @property
    def has_others(self) -> bool:
        """Whether more than the first header operation is filled."""
        return any(op.value() for op, _, _ in self.others)

    @property
    def names(self) -> str:
        return ", ".join(FIELDS)

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if self.errors:
            return said
        document: dict[str, Any] = {}
        filled = [number for number in range(ROWS) if said[f"op_{number}"]]
        if said["how"] and (said["body"].strip() or not filled):
            try:
                document["body"] = {said["how"]: lossless_json.loads(said["body"])}
            except ValueError as error:
                text = gettext("This is not JSON: %(why)s.")
                self.add_error("body", text % {"why": error})
                return said
        if filled:
            document["headers"] = [operation(said, number) for number in filled]
        try:
            read_patch(document)
        except InvalidPatch as error:
            self.add_error(place_of(error, filled), sentence(error))
        said["document"] = lossless_json.dumps(document)
        return said


def operation(said: Mapping[str, Any], number: int) -> dict[str, Any]:
    op, name = said[f"op_{number}"], said[f"name_{number}"].strip()
    value = said[f"value_{number}"]
    wanted = {"op": op, "name": name}
    if op == "rename":
        return wanted | {"to": value.strip()}
    return wanted | ({"value": value_of(name, value)} if op != "remove" else {})


def value_of(name: str, typed: str) -> Any:
    """The value typed: a number, true, false, null, or text; quotes force text."""
    if name in FIELDS and not typed.startswith('"'):
        return typed
    try:
        value = lossless_json.loads(typed)
    except ValueError:
        return typed
    return typed if isinstance(value, dict | list) else value


def place_of(error: InvalidPatch, filled: list[int]) -> str | None:
    """The form field that an error belongs to."""
    if error.where.startswith("body"):
        return "body"
    number = error.where.rpartition(" ")[2]
    if error.where.startswith("headers") and number.isdigit():
        return f"name_{filled[int(number) - 1]}"
    return None


def sentence(error: InvalidPatch) -> str:
    text = f"{error.where}: {error.why}." if error.where else f"{error.why}."
    return text[0].upper() + text[1:]


def initial_of(document: str) -> dict[str, str]:
    """The form's fields for a stored patch, or for a new one."""
    if not document:
        return {"how": "merge"}
    said = lossless_json.loads(document)
    initial: dict[str, str] = {}
    for how, value in said.get("body", {}).items():
        initial |= {
            "how": how,
            "body": lossless_json.dumps(value, lossless_json.INDENTED),
        }
    for number, one in enumerate(said.get("headers", [])[:ROWS]):
        initial[f"op_{number}"] = one["op"]
        initial[f"name_{number}"] = one["name"]
        value = one.get("to", one.get("value", ""))
        is_plain = isinstance(value, str) and value_of(one["name"], value) == value
        shown = value if is_plain or "to" in one else lossless_json.dumps(value)
        initial[f"value_{number}"] = shown
    return initial


def begun(said: Mapping[str, str], example: PatchExample | None) -> PatchForm:
    """The form with the beginning of a change: of the value at a JSON Pointer in the
    body (``begin``), or of a header (``begin_header``).

    Args:
        said: what was typed so far, and what the user chose.
        example: the message that the user sees.
    """
    names = [f"{one}_{number}" for number in range(ROWS) for one in PARTS]
    typed = {name: said.get(name, "") for name in ("how", "body", *names)}
    focus = "body"
    fault = gettext("You may not see a message of this plan, or none is stored.")
    if example is not None and "begin" in said:
        place = example.place(said["begin"])
        nowhere = gettext("The message has no such value.")
        fault = begin_at(typed, place) if place else nowhere
    elif example is not None:
        name = said.get("begin_header", "")
        fault, focus = begin_header(typed, name, dict(example.headers).get(name))
    return PatchForm(typed=typed, fault=fault, focus=focus, is_open=True)


def begin_at(typed: dict[str, str], place: Place) -> str:
    """Add a value of the body to the typed patch; return why it cannot be added."""
    text = typed["body"].strip()
    try:
        patch = lossless_json.loads(text) if text else None
    except ValueError as error:
        text = gettext("The patch below is not JSON: %(why)s. Correct it first.")
        return text % {"why": error}
    if patch is None:
        typed["how"] = "patch" if place.in_array or not place.parts else "merge"
    if typed["how"] == "patch":
        if not isinstance(patch, list | None):
            return gettext("A JSON patch is a list of operations.")
        path = JsonPointer.from_parts(place.parts).path
        operation = {"op": "replace", "path": path, "value": place.value}
        patch = [*(patch or ()), operation]
    elif place.in_array:
        return gettext(
            "A merge patch replaces arrays as a whole. Choose the JSON patch."
        )
    else:
        patch = inner = {} if patch is None else patch
        for step in place.parts[:-1]:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or place.parts[-1:] == []:
            return gettext("The patch replaces this value already.")
        inner.setdefault(place.parts[-1], place.value)
        typed["how"] = "merge"
    typed["body"] = lossless_json.dumps(patch, lossless_json.INDENTED)
    return ""


def begin_header(
    typed: dict[str, str], name: str, value: str | None
) -> tuple[str, str]:
    """Add a header to the typed operations; return why it cannot be added, and the
    field of its value."""
    if value is None:
        fault = gettext("The message has no such header that can be changed.")
        return fault, "body"
    for number in range(ROWS):
        if not typed[f"op_{number}"]:
            filled = zip(PARTS, ("set", name, value), strict=True)
            typed |= {f"{part}_{number}": one for part, one in filled}
            return "", f"value_{number}"
    fault = gettext("The form has places for %(n)s headers.")
    return fault % {"n": ROWS}, "body"
