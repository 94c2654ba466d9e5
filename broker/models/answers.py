"""Stored responses to requests with an idempotency key."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class KeptAnswer(models.Model):
    """The response to an idempotency key, kept while the request may be repeated."""

    asker = models.CharField(max_length=64)  # user 7, credential 12
    key = models.CharField(max_length=255)
    digest = models.BinaryField()  # SHA-256 of the request
    status = models.SmallIntegerField(null=True)  # null while the request runs
    content_type = models.TextField(default="", db_default="")
    body = models.BinaryField(null=True)
    asked_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint("asker", "key", name="one_answer_a_key")]
        indexes = [models.Index("asked_at", name="answers_to_forget")]

    def __str__(self) -> str:
        return f"{self.key} of {self.asker}"
