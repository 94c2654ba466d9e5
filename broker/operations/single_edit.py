"""One message, edited by a person and sent on: an operation on a set of one.

Unlike others it is done at once or not at all: nobody who has edited a message is left
to find out later that it was not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from broker.errors.patches import NotRepaired
from broker.formats import patches
from broker.formats.patches import HeaderOperation, Patch
from broker.models import DeadLetter, Operation, OperationItem, OperationPatch
from broker.operations.commands import Chosen, Order
from broker.operations.lifecycle import start
from broker.operations.planning import plan, queue_id_of
from broker.security import redaction

Status = OperationItem.Status


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person changed of a message."""

    headers: Sequence[HeaderOperation] = ()
    body: bytes | None = None  # none: it is as it was


@transaction.atomic
def plan_edit(  # each is named where it is used
    user: Any,
    message_id: int,
    queue: str,
    edit: Edit,
    *,
    reason: str = "",
    to: str = "",
) -> Operation:
    """Freeze that an edited copy goes where a message came from, if it is a dead
    letter, or else takes its place on its own queue; nothing is done yet.

    Args:
        user: who edited it.
        message_id: which.
        queue: where it is.
        edit: what was changed of it.
        reason: why, for the record.
        to: the queue to which the copy goes in place of that.

    Raises:
        MaskedMessage: something of it is masked, and this person may not see that.
        NoSuchQueue: there is none of this name.
        NothingChosen: the message is not there any more, or with a consumer.
        NotResubmittable: so it is, of a dead letter; or it knows no way back.
    """
    redaction.require_clear(user, [message_id])
    letters = DeadLetter.objects.filter(message_id=message_id)
    is_letter = letters.filter(queue_id=queue_id_of(queue)).exists()
    order = (
        Order(Operation.Kind.RESUBMIT)
        if is_letter and not to
        else Order(Operation.Kind.MOVE, to or queue)
    )
    chosen = Chosen(queue=queue, ids=(message_id,))
    scope = f"message {message_id} on {queue}, edited"
    operation = plan(user, order, chosen, scope=scope, reason=reason)
    headers = patches.written(Patch(tuple(edit.headers))) if edit.headers else ""
    OperationPatch.objects.create(
        operation=operation,
        document=headers,
        body=edit.body,
        is_looked=True,
        looked=1,
    )
    return operation


@transaction.atomic
def start_edit(operation_id: int) -> int:
    """Send the edited copy; return its number.

    Raises:
        NotRepaired: it was not sent; nothing is changed.
        OperationNotPlanned: it was started or cancelled before.
    """
    start(operation_id)
    item = OperationItem.objects.get(operation_id=operation_id)
    if item.status != Status.DONE or item.copy_id is None:
        raise NotRepaired(item.message_id, item.note)
    return item.copy_id
