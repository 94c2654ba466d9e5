"""ConnectionConsumers at work, and the queues where they had to stop."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from broker.models.queues import Queue


class ConnectionConsumer(models.Model):
    """Server sessions of one process that feed on one queue; gone with its process."""

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
    """Delivery that stopped because one message could be put nowhere; until cleared."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="stoppages")
    message_id = models.BigIntegerField()  # that could not be put anywhere
    reason = models.IntegerField()  # IBM MQ's code: why the last put failed
    why = models.TextField()  # for people
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # whose authorities were missing, or would have done; null is the application
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
