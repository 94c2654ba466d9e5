"""What was answered to requests that may come again."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class KeptAnswer(models.Model):
    """The answer to a key, for as long as it may be asked for again."""

    asker = models.CharField(max_length=64)  # user 7, credential 12
    key = models.CharField(max_length=255)
    digest = models.BinaryField()  # SHA-256 of what was asked for
    status = models.SmallIntegerField(null=True)  # null while it is being done
    content_type = models.TextField(default="", db_default="")
    body = models.BinaryField(null=True)
    asked_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint("asker", "key", name="one_answer_a_key")]
        indexes = [models.Index("asked_at", name="answers_to_forget")]

    def __str__(self) -> str:
        return f"{self.key} of {self.asker}"
