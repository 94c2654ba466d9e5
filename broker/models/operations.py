"""Operations of an operator on many messages: a fixed set, processed item by item.

The items are chosen once, when the operation is planned. Later they record the result
of each message. An operation touches no other message.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from broker.models.journal import Place
from broker.models.moment_field import MomentField


class Operation(models.Model):
    """One operation, from its plan to its result."""

    class Kind(models.TextChoices):
        """The action on each message. A label is read after "to"."""

        RESUBMIT = "resubmit", gettext_lazy("resubmit")
        MOVE = "move", gettext_lazy("move")
        COPY = "copy", gettext_lazy("copy")
        REMOVE = "remove", gettext_lazy("remove")
        EXPIRE = "expire", gettext_lazy("expire")
        DEAD_LETTER = "dead_letter", gettext_lazy("send to dead letters")
        PRIORITY = "priority", gettext_lazy("change the priority")
        DELIVER = "deliver", gettext_lazy("deliver now")
        RESCHEDULE = "reschedule", gettext_lazy("deliver at another time")

    class State(models.TextChoices):
        PLANNED = "planned"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    kind = models.CharField(max_length=16, choices=Kind)
    state = models.CharField(max_length=16, choices=State, default=State.PLANNED)
    # The set of messages in words: "dead letters of orders, …".
    scope = models.TextField()
    argument = models.TextField(
        blank=True, default="", db_default=""
    )  # the target queue of a move or a copy, the new priority, or the new due time
    drops_header = models.BooleanField(
        default=False, db_default=False
    )  # whether a move removes the MQDLH before the body
    undoes = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="undone_by"
    )
    reason = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    created_at = MomentField(db_default=Now())
    started_at = MomentField(null=True)
    ended_at = MomentField(null=True)

    class Meta:
        ordering = ["-id"]
        permissions = [
            ("approve_operation", "Can approve what somebody else planned"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class OperationItem(models.Model):
    """One entry of the set of an operation, and its result."""

    class Status(models.TextChoices):
        PLANNED = "planned", gettext_lazy("Planned")
        DONE = "done", gettext_lazy("Done")
        SKIPPED = "skipped", gettext_lazy("Skipped")
        # Not part of the plan: the message was resubmitted too often, or is only a
        # notice of a link about another message (``NOTICE``).
        LEFT_OUT = "left_out", gettext_lazy("Left Out")

    NOTICE = "notice"  # note of an item that is left out as a notice

    class Outcome(models.IntegerChoices):
        """The outcome of the copy that the operation made of the item's message."""

        PROCESSED = 1, gettext_lazy("processed")
        DEAD = 2, gettext_lazy("dead-lettered again")
        EXPIRED = 3, gettext_lazy("expired")
        TAKEN = 4, gettext_lazy("taken away")  # another operation has taken the copy
        UNKNOWN = (
            5,
            gettext_lazy("unknown"),
        )  # the journal no longer has the copy's events

    operation = models.ForeignKey(
        Operation, models.CASCADE, related_name="items", db_index=False
    )
    queue_id = models.IntegerField()
    message_id = models.BigIntegerField()
    target = models.TextField()  # name of the planned target queue
    status = models.CharField(
        max_length=8, choices=Status, default=Status.PLANNED, db_default=Status.PLANNED
    )
    # Reason why the item was skipped, or left out.
    note = models.TextField(blank=True, db_default="")
    copy_id = models.BigIntegerField(null=True)  # message id of the copy
    outcome = models.SmallIntegerField(
        null=True, choices=Outcome, db_column="fate"
    )  # null: not known yet
    # Fingerprint of the copy's error, if it is dead-lettered again.
    died_of = models.TextField(blank=True, db_default="")

    # State of the entry when the operation took it; an undo restores this state.
    came_from = models.SmallIntegerField(null=True, choices=Place)
    priority = models.SmallIntegerField(null=True)
    backout_count = models.IntegerField(null=True)
    delivery_count = models.IntegerField(null=True)
    due_at = MomentField(null=True)
    expires_at = MomentField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["operation", "status", "id"], name="broker_item_next")
        ]


class CounterReset(models.Model):
    """The value of a queue's counter at its last reset by an operator."""

    queue = models.ForeignKey(
        "broker.Queue", models.CASCADE, related_name="counter_resets"
    )
    counter = models.CharField(max_length=32)
    value = models.BigIntegerField()
    reset_at = MomentField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("queue", "counter", name="one_reset_a_counter")
        ]

    def __str__(self) -> str:
        return f"{self.counter} of queue {self.queue_id}"
