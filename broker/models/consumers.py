"""Running ConnectionConsumers, and the queues on which their delivery stopped."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from broker.models.queues import Queue


class ConnectionConsumer(models.Model):
    """Server sessions of one process on one queue; deleted when the process ends."""

    owner_id = models.IntegerField()
    queue = models.ForeignKey(Queue, models.CASCADE, related_name="consumers")
    handler = models.TextField()  # the function's name
    selector = models.TextField(blank=True)
    retains_unwanted = models.BooleanField(default=True)  # MSGRETENTION
    server_sessions = models.IntegerField()
    started_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.handler} on queue {self.queue_id}"


class Stoppage(models.Model):
    """Delivery from a queue has stopped until an operator clears it: a poison message
    could be put neither to the backout queue nor to a dead letter queue."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="stoppages")
    message_id = models.BigIntegerField()  # of the message that could not be put
    reason = models.IntegerField()  # IBM MQ's code: why the last put failed
    why = models.TextField()  # the reason as a sentence
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # whose authorities the put used; null is the application
    stopped_at = models.DateTimeField(db_default=Now())
    cleared_at = models.DateTimeField(null=True)
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
