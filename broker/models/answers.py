"""Stored responses to requests with an idempotency key."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from broker.models.moment_field import MomentField


class StoredResponse(models.Model):
    """The response to an idempotency key, kept while the request may be repeated."""

    # The client: as "user 7" or "credential 12".
    asker = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    digest = models.BinaryField()  # SHA-256 digest of the request
    # HTTP status; null while the request runs.
    status = models.SmallIntegerField(null=True)
    content_type = models.TextField(default="", db_default="")
    body = models.BinaryField(null=True)
    asked_at = MomentField(db_default=Now())

    class Meta:
        db_table = "broker_keptanswer"
        default_permissions = ()
        constraints = [models.UniqueConstraint("asker", "key", name="one_answer_a_key")]
        indexes = [models.Index("asked_at", name="answers_to_forget")]

    def __str__(self) -> str:
        return f"{self.key} of {self.asker}"
