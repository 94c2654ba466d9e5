"""Send an edited copy of one message: an operation with one item.

Unlike other operations, this operation ends at once, so the user sees the result.
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
from broker.monitoring.numbers import public_number
from broker.operations.commands import Chosen, Order
from broker.operations.lifecycle import start
from broker.operations.planning import plan, queue_id_of
from broker.security import redaction

Status = OperationItem.Status


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes of a user to a message."""

    headers: Sequence[HeaderOperation] = ()
    body: bytes | None = None  # the new body; None: unchanged


@transaction.atomic
def plan_edit(  # callers name the arguments
    user: Any,
    message_id: int,
    queue: str,
    edit: Edit,
    *,
    reason: str = "",
    to: str = "",
) -> Operation:
    """Plan to send an edited copy of a message. A dead letter goes back to its origin
    queue; any other message is replaced on its own queue. Nothing is sent yet.

    Args:
        user: the user who edited it.
        message_id: id of the message.
        queue: name of the queue that the message is on.
        edit: the changes.
        reason: text that the audit records.
        to: another queue for the copy.

    Raises:
        MaskedMessage: part of the message is masked for this user.
        NoSuchQueue: there is no queue of this name.
        NothingChosen: the message is no longer on the queue, or is claimed.
        NotResubmittable: a dead letter is no longer on the queue, is claimed, or has no
            origin queue.
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
    scope = f"message {public_number(message_id)} on {queue}, edited"
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
        raise NotRepaired(public_number(item.message_id), item.note)
    return item.copy_id
