"""Running ConnectionConsumers, and the queues on which their delivery stopped."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from broker.models.moment_field import MomentField
from broker.models.queues import Queue


class ConnectionConsumer(models.Model):
    """Server sessions of one process on one queue; deleted when the process ends."""

    owner_id = models.IntegerField()
    queue = models.ForeignKey(Queue, models.CASCADE, related_name="consumers")
    handler = models.TextField()  # name of the handler function
    selector = models.TextField(blank=True)
    # Whether unwanted messages stay on the queue (IBM MQ: MSGRETENTION).
    retains_unwanted = models.BooleanField(default=True)
    server_sessions = models.IntegerField()
    # Limits that hold for all processes together.
    max_running = models.PositiveIntegerField(null=True)
    rate = models.TextField(blank=True, db_default="", default="")
    started_at = MomentField(db_default=Now())
    # Share of the last minute in which its sessions handled messages; null: not known.
    busy_percent = models.PositiveSmallIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.handler} on queue {self.queue_id}"


class HandlerLimit(models.Model):
    """The state of the limits of a handler, for all processes (``dispatch.limits``)."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="+")
    handler = models.TextField()  # name of the handler function
    # The rate allows the next message at this time.
    next_at = MomentField(db_default=Now())
    # Units of work that the handler began. The next start of the handler removes the
    # units that have ended.
    uows = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint("queue", "handler", name="one_limit_a_handler")
        ]

    def __str__(self) -> str:
        return f"limits of {self.handler}"


class Stoppage(models.Model):
    """Delivery from a queue has stopped until an operator clears it: a poison message
    could be put neither to the backout queue nor to a dead letter queue."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="stoppages")
    message_id = models.BigIntegerField()  # id of the message that could not be put
    reason = models.IntegerField()  # IBM MQ's reason code of the last failed put
    why = models.TextField()  # the reason as a sentence
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # user whose authorities the put used; null: the application
    stopped_at = MomentField(db_default=Now())
    cleared_at = MomentField(null=True)
    cleared_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "queue",
                name="one_open_stoppage_a_queue",
                condition=Q(cleared_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"stoppage of queue {self.queue_id}"
