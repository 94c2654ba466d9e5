"""Acts on patches of plans: set one, drop it; and its preview, for those who may read
the messages.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import Holds, OperationNumber
from broker.acts.operations.ledgers import ledger_of
from broker.acts.operations.plans import BROWSE, REPAIR, repaired, require_repair
from broker.acts.operations.siblings import Sibling, siblings_in
from broker.formats.quantities import write_count
from broker.models import Act, Operation, OperationPatch
from broker.operations import Outcome
from broker.security import permissions, redaction
from broker.security.authorities import Principal
from broker.security.redaction import Sight, Veil
from broker.security.redaction.masking import marked

CODES = {one.sentence: one.value for one in Outcome}
# The answer waits for the preview of at most so many chunks of messages, or so many
# seconds; a worker previews the rest.
AT_ONCE, AT_ONCE_S = 3, 1.0


@dataclass(frozen=True, slots=True)
class Left:
    """Messages that are not sent, and the reason."""

    code: str  # a stable code that programs may compare
    why: str
    messages: int


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value that the patch changes."""

    where: str  # a header, or a path in the body
    before: str | None  # the value before, as JSON; null: the value did not exist
    after: str | None


@dataclass(frozen=True, slots=True)
class Alike:
    """Messages that change in the same way, with one example."""

    kinds: list[str]
    messages: int
    example: int
    changes: list[ValueChange]


@dataclass(frozen=True, slots=True)
class PatchPreview:
    """The effect of a patch on the frozen set of a plan."""

    operation_id: int
    is_complete: bool  # false: the preview is not complete yet
    looked_at: int
    total: int
    fits: int  # messages looked at and not skipped: to be sent, or sent already
    left: list[Left]
    alike: list[Alike]  # at most 20 groups, each with different ``kinds`` of change

    def __str__(self) -> str:
        words = f"The patch fits {self.fits:,} of {self.looked_at:,} looked at"
        rest = f", of {self.total:,}." if self.looked_at < self.total else "."
        return words + rest


@dataclass(frozen=True, slots=True)
class ResubmitPlan:
    """A plan to resubmit; nothing has been sent yet."""

    operation_id: int
    messages: int
    preview: PatchPreview | None  # null: the plan has no patch
    # other queues that get copies; empty: only the queues that the messages were on
    siblings: list[Sibling]

    def __str__(self) -> str:
        words = (
            f"Operation {self.operation_id} is planned, to send"
            f" {write_count(self.messages, 'message')} back."
        )
        return words if self.preview is None else f"{words} {self.preview}"


@dataclass(frozen=True, slots=True)
class SetPatch:
    """The plan, and its patch."""

    operation: OperationNumber
    patch: Annotated[
        str,
        Holds(gettext_noop("The patch of each message."), is_file=True, is_json=True),
    ]


@repaired(rules={"operation": REPAIR}, recorded_as=Act.ALTER)
def set_patch(actor: Principal, request: SetPatch) -> PatchPreview:
    """Set the patch of a plan.

    Replaces the plan's patch, and previews it on the messages. The worker previews a
    large set: read the preview until it is complete.
    """
    plan = Operation.objects.get(pk=request.operation)
    store_patch(actor, plan, request.patch)
    preview = preview_patch(actor, plan)
    assert preview is not None, "it was just stored"
    return preview


@dataclass(frozen=True, slots=True)
class DropPatch:
    """The plan."""

    operation: OperationNumber


@repaired(rules={"operation": REPAIR}, recorded_as=Act.ALTER)
def drop_patch(actor: Principal, request: DropPatch) -> ResubmitPlan:
    """Remove the patch of a plan.

    Without its patch, the plan sends its messages unchanged.
    """
    operations.drop_patch(request.operation)
    return read_plan(actor, Operation.objects.get(pk=request.operation))


def give_patch(actor: Principal, plan: Operation, document: str) -> None:
    """Set the patch of a plan that is just being made.

    Raises:
        NotPermitted, NotAuthorized: the actor may not read or not send the messages.
        InvalidPatch, …: as ``operations.set_patch``.
    """
    permissions.require(actor, BROWSE)
    require_repair(actor, plan)
    store_patch(actor, plan, document)


def store_patch(actor: Principal, plan: Operation, document: str) -> None:
    """Set the patch of a plan; a small set is checked at once."""
    operations.set_patch(plan.pk, document, by=actor)
    ends = time.monotonic() + AT_ONCE_S
    for _ in range(AT_ONCE):
        if not operations.look(plan.pk) or time.monotonic() > ends:
            break


def read_plan(actor: Principal, plan: Operation) -> ResubmitPlan:
    """The plan, with the preview of its patch."""
    ledger = ledger_of(plan)
    return ResubmitPlan(
        plan.pk,
        ledger.total,
        preview_patch(actor, plan),
        siblings_in(plan, ledger, actor),
    )


def preview_patch(actor: Principal, plan: Operation) -> PatchPreview | None:
    """The preview of a plan's patch; None if it has none."""
    found = OperationPatch.objects.filter(pk=plan.pk).first()
    if found is None:
        return None
    ledger = ledger_of(plan)
    not_looked = 0 if found.is_looked else ledger.total - found.looked
    return PatchPreview(
        operation_id=plan.pk,
        is_complete=found.is_looked,
        looked_at=found.looked,
        total=ledger.total,
        fits=ledger.planned + ledger.done - not_looked,
        left=[
            Left(CODES.get(why, "skipped"), why, count)
            for why, count in ledger.why_skipped
        ],
        alike=masked_groups(found, redaction.sight_of(actor)),
    )


def masked_groups(patch: OperationPatch, sight: Sight) -> list[Alike]:
    """The groups of a preview, without values of masked messages."""
    veils = sight.veils(one["example"] for one in patch.alike)
    return [
        Alike(
            one["kinds"],
            one["messages"],
            one["example"],
            [masked_change(veils[one["example"]], *some) for some in one["changes"]],
        )
        for one in patch.alike
        if one["changes"] is not None
    ]


def masked_change(veil: Veil, where: str, before: Any, after: Any) -> ValueChange:
    if veil:
        mark = marked(veil.names)
        before, after = before and mark, after and mark
    return ValueChange(where, before, after)
