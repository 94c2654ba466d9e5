"""The patch of a plan on its page: its form, and its effect on all messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from broker.acts.operations.ledgers import Ledger
from broker.acts.operations.patches import masked_groups
from broker.formats import lossless_json
from broker.models import Operation, OperationPatch, OperationSchedule
from broker.monitoring.numbers import public_numbers
from broker.monitoring.visible_search import BROWSE
from broker.operations.patching import PATCHABLE
from broker.security import authorities, redaction
from broker.security.redaction import Sight
from console.bodies.text_diff import DiffLine
from console.edges import permissions
from console.operations.patch_example import PatchExample, diff_lines, example_for
from console.operations.patch_form import PatchForm


@dataclass(frozen=True, slots=True)
class Alike:
    """Messages that change in the same way, with one example."""

    messages: int
    example: int  # id of a message
    number: int  # its number
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
    example: PatchExample | None  # None: it is masked, or none is stored

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
        ""
        if may
        else gettext("To repair messages, you need the permission to read them.")
    )
    document = patch.document if patch else ""
    laid_out = lossless_json.dumps(
        lossless_json.loads(document or "{}"), lossless_json.INDENTED
    ).splitlines()
    sight = redaction.sight_of(user)
    may_change = is_plan and may and (patch is None or patch.body is None)
    return PatchPanel(
        patch,
        form or PatchForm(document=document),
        may_change,
        obstacle,
        list(alike_of(patch, sight)) if patch and reads else [],
        laid_out if document and reads else [],
        ledger.total,
        example_for(found, sight) if may_change else None,
    )


def alike_of(patch: OperationPatch, sight: Sight) -> Iterator[Alike]:
    groups = masked_groups(patch, sight)
    numbers = public_numbers(one.example for one in groups)
    for one in sorted(groups, key=lambda one: -one.messages):
        lines = list(diff_lines(one.changes))
        number = numbers[one.example]
        yield Alike(one.messages, one.example, number, ", ".join(one.kinds), lines)
