"""Patches of operations: tested on all items before the start, applied when sending.

A test reads the whole set. If the patch does not apply to a message, its item is
skipped at once with a note, so the rest of the plan is what will be sent. Messages
never change, so the result of the test stays valid.
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
from broker.formats.mq.coding import coding_of
from broker.formats.patches import LARGEST, Patch, Repair, Subject, Unfit
from broker.formats.patches.documents import Whole
from broker.formats.patches.headers import FIELDS, PROPERTY
from broker.models import Act, Message, Operation, OperationItem, OperationPatch
from broker.operations import approvals, auditing
from broker.operations.batches import ItemBatch
from broker.operations.items import Item, note, planned
from broker.operations.outcomes import Outcome
from broker.security import redaction
from broker.security.authorities import Principal
from broker.sql.fencing import short_transaction

Kind, State, Status = Operation.Kind, Operation.State, OperationItem.Status
PATCHABLE = (Kind.RESUBMIT, Kind.MOVE)
CHUNK = 100  # most items on which one transaction tests a patch
# Most bytes of bodies in one transaction: this is seconds of JSON processing.
CHUNK_BYTES = 4 * 2**20
SIZE = Func(F("body"), function="octet_length", output_field=IntegerField())
# At most so many groups of messages are stored, each with its own kinds of change.
DIFFERENT = 20
DESCRIBED = {  # fields of a message descriptor that repeat a header's value
    "correl_id": "correlation-id",
    "group_id": "group-id",
    "format": "content-type",
    "coded_char_set_id": "content-type",
}


@transaction.atomic
def set_patch(operation_id: int, document: str, by: Principal = None) -> OperationPatch:
    """Set the patch of a plan, in place of an earlier one; it is not tested yet.

    Args:
        operation_id: id of the plan.
        document: the patch.
        by: the user. The user must be allowed to see the messages unmasked, because
            the test of a patch reveals their content.

    Raises:
        InvalidPatch: it cannot be parsed.
        MaskedMessage: part of a message is masked for this user.
        NotPatchable: the kind of operation has no patches.
        OperationNotPlanned: the operation was started or cancelled before.
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
    """Remove the patch of a plan; skipped items are planned again.

    Raises:
        OperationNotPlanned: the operation was started or cancelled before.
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
    """A planned operation, locked so that it cannot be started or cancelled."""
    found = Operation.objects.select_for_update().get(pk=operation_id)
    if found.state != State.PLANNED:
        raise OperationNotPlanned(operation_id, found.state)
    return found


@short_transaction()
def look(operation_id: int, *, limit: int = CHUNK) -> int:
    """Test the patch of a plan on its next items; return the number of items.

    Zero if all items were tested, or while another process tests the patch.
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
    """Count a message with its set of changes; store an example of each set."""
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
    """The plans whose patches are not fully tested."""
    plans = OperationPatch.objects.filter(
        is_looked=False, operation__state=State.PLANNED
    )
    return list(plans.order_by("pk").values_list("pk", flat=True))


def require_looked(operation_id: int) -> None:
    """Refuse an operation with a patch that is not fully tested.

    Raises:
        PatchNotLooked: the patch was not yet tested on all items.
    """
    if OperationPatch.objects.filter(pk=operation_id, is_looked=False).exists():
        raise PatchNotLooked(operation_id)


def at_once(operation_id: int, limit: int) -> int:
    """How many items one step may process: fewer if the operation has a patch."""
    has_patch = OperationPatch.objects.filter(pk=operation_id).exists()
    return few(operation_id, limit) if has_patch else limit


def few(operation_id: int, limit: int, *, after: int = 0) -> int:
    """How many of the next items have bodies that fit into ``CHUNK_BYTES``; at least
    one."""
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
    """Apply the patch of the operation to a batch: store the repairs, and skip items to
    which the patch cannot be applied. Without a patch it does nothing."""
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
    """The parsed patch of an operation."""
    if found.body is None and found.document:
        return patches.parse(found.document)
    headers = patches.parse(found.document).headers if found.document else ()
    return Patch(headers, None if found.body is None else Whole(bytes(found.body)))


# Message id, message, and the repair or the reason why there is none.
Result = tuple[int, Subject | None, Repair | Outcome]


def results(patch: Patch, ids: Sequence[int]) -> Iterator[Result]:
    """The result of a patch for each message: a repair, or the reason why it cannot be
    applied."""
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
    """Messages as patches see them; a body that is too long to be patched is not
    loaded."""
    rows = Message.objects.filter(pk__in=ids).annotate(
        size=SIZE, document=Cast("properties", TextField())
    )
    small = rows.filter(size__lte=LARGEST).defer("properties", "envelope")
    large = rows.filter(size__gt=LARGEST).defer("properties", "envelope", "body")
    return {row.pk: subject_of(row) for some in (small, large) for row in some}


def subject_of(row: Message) -> Subject:
    """A message as a patch sees it.

    A header whose value is repeated in IBM MQ's headers is locked: a patch would change
    only one of the two places.
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
        coding=coding_of(
            row.descriptor,
            row.content_type,
            row.headers,
            row.body if is_small else b"",
        ),
    )
