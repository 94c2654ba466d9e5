"""The patch form of a plan, and the preview over all its messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from broker.acts.operations.ledgers import Ledger
from broker.acts.operations.patches import masked_groups
from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json
from broker.formats.patches import FIELDS
from broker.formats.patches.documents import LONGEST, read_patch
from broker.models import Operation, OperationPatch, OperationSchedule
from broker.monitoring.visible_search import BROWSE
from broker.operations.patching import PATCHABLE
from broker.security import authorities, redaction
from broker.security.redaction import Sight
from console.bodies.text_diff import DiffLine
from console.edges import permissions

ROWS = 6  # header operations in the form
OPS = [
    ("", "–"),
    ("test", "only if it is"),
    ("set", "set to"),
    ("remove", "remove"),
    ("rename", "rename to"),
]
HOWS = [
    ("", "as it is"),
    ("merge", "JSON merge patch: what changes, by name"),
    ("patch", "JSON patch: a list of operations"),
]


class PatchForm(forms.Form):
    """The changes to make in each message."""

    how = forms.ChoiceField(choices=HOWS, required=False)
    body = forms.CharField(required=False, strip=False, max_length=LONGEST)

    def __init__(
        self, said: Any = None, *, document: str = "", is_open: bool = False
    ) -> None:
        self.is_open, self.is_new = is_open, not document
        super().__init__(said, initial=initial_of(document))
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
            yield [self[f"{one}_{number}"] for one in ("op", "name", "value")]

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
                self.add_error("body", f"This is not JSON: {error}.")
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


@dataclass(frozen=True, slots=True)
class Alike:
    """Messages that change in the same way, with one example."""

    messages: int
    example: int
    kinds: str
    lines: list[DiffLine]


@dataclass(frozen=True, slots=True)
class PatchPanel:
    """The repair section of an operation's page."""

    patch: OperationPatch | None
    form: PatchForm
    may_change: bool
    obstacle: str  # why the user may not change the patch
    alike: list[Alike]  # empty for users who may not browse
    document: list[str]  # the patch as lines of text
    total: int

    @property
    def is_looking(self) -> bool:
        return self.patch is not None and not self.patch.is_looked


def rest_of(found: Operation, ledger: Ledger, schedule: OperationSchedule) -> int:
    """How many messages can be sent with another patch after the operation has stopped;
    0: it has not stopped, or has no patch."""
    is_stopped = (
        found.started_at is not None
        if found.state == Operation.State.CANCELLED
        else found.state == Operation.State.RUNNING and schedule.halt is not None
    )
    may_patch = found.undoes_id is None and found.kind in PATCHABLE
    return ledger.planned if is_stopped and may_patch else 0


def may_repeat(found: Operation) -> bool:
    """Whether an operation is an undo that has ended, of one that had a patch: its
    messages can be planned again, with another patch."""
    if found.undoes is None or found.started_at is None or found.ended_at is None:
        return False
    patches = OperationPatch.objects.filter(pk=found.undoes_id, body=None)
    return found.undoes.kind in PATCHABLE and patches.exists()


def part_of(
    user: Any, found: Operation, ledger: Ledger, form: PatchForm | None
) -> PatchPanel | None:
    """The section; None if the operation sends nothing, or started without a patch."""
    patch = OperationPatch.objects.filter(pk=found.pk).first()
    is_plan = found.state == Operation.State.PLANNED
    if found.undoes_id is not None or found.kind not in PATCHABLE:
        return None
    if patch is None and not is_plan:
        return None
    held = authorities.held_by(user)
    reads = user.has_perm(BROWSE) and all(
        held.on("browse", name or "#") for name in ledger.sources
    )
    may = user.has_perm(permissions.CHANGE) and reads
    obstacle = (
        "" if may else "To repair messages, you need the permission to read them."
    )
    document = patch.document if patch else ""
    laid_out = lossless_json.dumps(
        lossless_json.loads(document or "{}"), lossless_json.INDENTED
    ).splitlines()
    return PatchPanel(
        patch,
        form or PatchForm(document=document),
        is_plan and may and (patch is None or patch.body is None),
        obstacle,
        list(alike_of(patch, redaction.sight_of(user))) if patch and reads else [],
        laid_out if document and reads else [],
        ledger.total,
    )


def alike_of(patch: OperationPatch, sight: Sight) -> Iterator[Alike]:
    for one in sorted(masked_groups(patch, sight), key=lambda one: -one.messages):
        lines = [
            DiffLine(kind, f"{change.where}: {value}")
            for change in one.changes
            for kind, value in (("gone", change.before), ("new", change.after))
            if value is not None
        ]
        yield Alike(one.messages, one.example, ", ".join(one.kinds), lines)
