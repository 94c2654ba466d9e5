"""The act on recurring messages: put one now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason, declared
from broker.models import Act, Queue
from broker.operations import recurring
from broker.security.authorities import Principal


@dataclass(frozen=True, slots=True)
class PutRecurringMessage:
    """The recurring message, and why."""

    recurring: Annotated[
        str, Holds(gettext_noop("Its name."), names="recurring message", most=100)
    ]
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class RecurringMessagePut:
    """The message that was put, and the queues that it is on."""

    message_id: int
    queues: list[str]

    def __str__(self) -> str:
        if not self.queues:
            return "No queue took the message."
        return f"Message {self.message_id} is put to {', '.join(self.queues)}."


@declared(
    permission="broker.put_recurringmessage",
    recorded_as=Act.PUT_RECURRING,
    authorities={"recurring": "put"},
)
def put_recurring_message(
    actor: Principal, request: PutRecurringMessage
) -> RecurringMessagePut:
    """Put a recurring message now.

    The message is put even if the schedule is disabled; the next time of the schedule
    does not change.
    """
    why = request.reason.strip()
    receipt = recurring.put_now(request.recurring, user=actor, reason=why)
    on = Queue.objects.filter(pk__in=receipt.queue_ids).order_by("name")
    return RecurringMessagePut(
        receipt.message_id, list(on.values_list("name", flat=True))
    )
