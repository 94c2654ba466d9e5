"""A patch on the way of an operation's messages: looked at before, applied at the time.

A look goes through the whole frozen set. Where the patch does not fit, the item is
skipped at once and its note says why, so what is left in the plan is what will be sent.
Messages never change, so what was found stays true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.db.models import F, Func, IntegerField, TextField
from django.db.models.functions import Cast

from broker.errors import OperationNotPlanned
from broker.errors.patches import NotPatchable, PatchNotLooked
from broker.formats import lossless_json, patches
from broker.formats.patches import LARGEST, Patch, Repair, Subject, Unfit
from broker.formats.patches.documents import Whole
from broker.formats.patches.headers import FIELDS, PROPERTY
from broker.models import Act, Message, Operation, OperationItem, OperationPatch
from broker.operations import approvals, auditing
from broker.operations.batches import ItemBatch
from broker.operations.ledger import Item, note, planned
from broker.operations.outcomes import Outcome
from broker.security import redaction
from broker.security.authorities import Principal

Kind, State, Status = Operation.Kind, Operation.State, OperationItem.Status
PATCHABLE = (Kind.RESUBMIT, Kind.MOVE)
CHUNK = 100  # items that one transaction holds a patch against
CHUNK_BYTES = 4 * 2**20  # of bodies: what takes seconds to read and write as JSON
SIZE = Func(F("body"), function="octet_length", output_field=IntegerField())
DIFFERENT = 20  # ways to be changed of which one is shown
DESCRIBED = {  # fields of a descriptor that say the same as a header
    "correl_id": "correlation-id",
    "group_id": "group-id",
    "format": "content-type",
    "coded_char_set_id": "content-type",
}


@transaction.atomic
def set_patch(operation_id: int, document: str, by: Principal = None) -> OperationPatch:
    """Give a plan a patch, in place of any that it has; nothing is looked at yet.

    Args:
        operation_id: of the plan.
        document: the patch.
        by: who gives it; what it fits tells what is in the messages.

    Raises:
        InvalidPatch: it cannot be read.
        MaskedMessage: something of a message is masked, and they may not see that.
        NotPatchable: the plan sends nothing on.
        OperationNotPlanned: it was started or cancelled before.
    """
    patch = patches.parse(document)
    operation = require_plan(operation_id)
    if operation.undoes_id is not None or operation.kind not in PATCHABLE:
        raise NotPatchable(operation_id)
    ids = OperationItem.objects.filter(operation=operation).values_list("message_id")
    redaction.require_clear(by, [one for (one,) in ids[: redaction.MOST + 1]])
    take_off(operation)
    written = patches.written(patch)
    digest = hashlib.sha256(written.encode()).hexdigest()
    made = OperationPatch.objects.create(operation=operation, document=written)
    approvals.reseal(operation)
    auditing.note(Act.ALTER, operation, patch=digest)
    return made


@transaction.atomic
def drop_patch(operation_id: int) -> None:
    """Take the patch of a plan away: all of its messages are in it again.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
    """
    operation = require_plan(operation_id)
    take_off(operation)
    approvals.reseal(operation)
    auditing.note(Act.ALTER, operation, patch=None)


def take_off(operation: Operation) -> None:
    if OperationPatch.objects.filter(pk=operation.pk).delete()[0]:
        left = operation.items.filter(status=Status.SKIPPED)
        left.update(status=Status.PLANNED, note="")


def require_plan(operation_id: int) -> Operation:
    """A plan that nobody starts or cancels meanwhile."""
    found = Operation.objects.select_for_update().get(pk=operation_id)
    if found.state != State.PLANNED:
        raise OperationNotPlanned(operation_id, found.state)
    return found


@transaction.atomic
def look(operation_id: int, *, limit: int = CHUNK) -> int:
    """Hold the patch of a plan against its next items; return how many.

    Zero when it was held against all, or somebody else is at it.
    """
    found = (
        OperationPatch.objects.select_for_update(skip_locked=True)
        .filter(pk=operation_id, is_looked=False, operation__state=State.PLANNED)
        .first()
    )
    if found is None:
        return 0
    limit = few(operation_id, limit, after=found.looked_after)
    items = planned(operation_id, limit=limit, after=found.looked_after)
    by_message: dict[int, list[Item]] = {}
    for item in items:
        by_message.setdefault(item.message_id, []).append(item)
    left: dict[int, Outcome] = {}
    for message_id, subject, result in results(read(found), list(by_message)):
        own = by_message[message_id]
        if isinstance(result, Outcome):
            left.update((item.pk, result) for item in own)
        elif subject is not None:
            count_alike(found, message_id, subject, result, len(own))
    note([item for item in items if item.pk in left], {}, left)
    found.looked += len(items)
    found.looked_after = items[-1].pk if items else found.looked_after
    found.is_looked = len(items) < limit
    found.save()
    return len(items)


def count_alike(
    found: OperationPatch, message_id: int, subject: Subject, repair: Repair, count: int
) -> None:
    """Note how a message is changed, where few are changed in the same way."""
    changes = patches.changes(subject, repair)
    kinds = sorted({one.kind for one in changes})
    for alike in found.alike:
        if alike["kinds"] == kinds:
            alike["messages"] += count
            return
    if len(found.alike) < DIFFERENT:
        shown = [[one.where, one.before, one.after] for one in changes]
        found.alike.append(
            {
                "kinds": kinds,
                "messages": count,
                "example": message_id,
                "changes": shown,
            }
        )


def waiting() -> list[int]:
    """The plans whose patches are still to be looked at."""
    plans = OperationPatch.objects.filter(
        is_looked=False, operation__state=State.PLANNED
    )
    return list(plans.order_by("pk").values_list("pk", flat=True))


def require_looked(operation_id: int) -> None:
    """Go on only if it is known what a patch does, if there is one.

    Raises:
        PatchNotLooked: it was not yet held against all items.
    """
    if OperationPatch.objects.filter(pk=operation_id, is_looked=False).exists():
        raise PatchNotLooked(operation_id)


def at_once(operation_id: int, limit: int) -> int:
    """How many items one step may have: fewer, where their bodies are read."""
    has_patch = OperationPatch.objects.filter(pk=operation_id).exists()
    return few(operation_id, limit) if has_patch else limit


def few(operation_id: int, limit: int, *, after: int = 0) -> int:
    """How many of the next items have bodies that are soon read; one at least."""
    limit = min(limit, CHUNK)
    items = planned(operation_id, limit=limit, after=after)
    rows = Message.objects.filter(pk__in=[item.message_id for item in items])
    sizes = dict(rows.annotate(size=SIZE).values_list("pk", "size"))
    read = 0
    for count, item in enumerate(items):
        size = sizes.get(item.message_id, 0)
        read += size if size <= LARGEST else 0
        if read > CHUNK_BYTES and count:
            return count
    return limit


def fit(batch: ItemBatch) -> None:
    """Note what the messages of a batch are to have instead; leave those out that a
    patch does not fit. Without a patch nothing happens."""
    found = OperationPatch.objects.filter(pk=batch.operation.pk).first()
    if found is None:
        return
    repairs: dict[int, Repair] = {}
    for message_id, _, result in results(read(found), batch.ids):
        if isinstance(result, Repair):
            repairs[message_id] = result
        else:
            batch.skip([message_id], result)
    batch.repairs = repairs
    batch.ids = [one for one in batch.ids if one in repairs]


def read(found: OperationPatch) -> Patch:
    """The patch that is stored."""
    if found.body is None and found.document:
        return patches.parse(found.document)
    headers = patches.parse(found.document).headers if found.document else ()
    return Patch(headers, None if found.body is None else Whole(bytes(found.body)))


Result = tuple[int, Subject | None, Repair | Outcome]  # of a message, by its id


def results(patch: Patch, ids: Sequence[int]) -> Iterator[Result]:
    """What a patch comes to in each message."""
    subjects = subjects_of(ids)
    for message_id in ids:
        subject = subjects.get(message_id)
        if subject is None:
            yield message_id, None, Outcome.NOT_STORED
            continue
        try:
            yield message_id, subject, patches.apply(patch, subject)
        except Unfit as unfit:
            yield message_id, subject, Outcome(unfit.misfit.value)


def subjects_of(ids: Sequence[int]) -> dict[int, Subject]:
    """Messages as patches want them; longer bodies than can be patched stay there."""
    rows = Message.objects.filter(pk__in=ids).annotate(
        size=SIZE, document=Cast("properties", TextField())
    )
    small = rows.filter(size__lte=LARGEST).defer("properties", "envelope")
    large = rows.filter(size__gt=LARGEST).defer("properties", "envelope", "body")
    return {row.pk: subject_of(row) for some in (small, large) for row in some}


def subject_of(row: Message) -> Subject:
    """What a patch is applied to.

    What stands in the headers of IBM MQ as well cannot be changed in one place alone.
    """
    columns = {name: getattr(row, column) for name, column in FIELDS.items()}
    said = {name: value for name, value in columns.items() if value is not None}
    properties = lossless_json.loads(row.document)  # type: ignore[attr-defined]
    said |= {PROPERTY + name: value for name, value in properties.items()}
    is_small = "body" not in row.get_deferred_fields()
    described = (row.descriptor or {}).keys() & DESCRIBED.keys()
    return Subject(
        said,
        bytes(row.body) if is_small else None,
        frozenset(DESCRIBED[one] for one in described),
        is_locked=row.headers is not None,
    )
