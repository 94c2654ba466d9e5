"""What people say of groups of dead letters: who looks after one, and what is known."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

USER = settings.AUTH_USER_MODEL


class DeadLetterGroup(models.Model):
    """What was said of one group. It belongs to the fingerprint, not to its letters, so
    it is there when they come back; there is no row where nobody said anything."""

    fingerprint = models.TextField(primary_key=True)
    owner = models.ForeignKey(USER, models.SET_NULL, null=True, related_name="+")
    note = models.TextField(default="", db_default="")
    ticket = models.TextField(default="", db_default="")  # a URL
    acknowledged_by = models.ForeignKey(
        USER, models.SET_NULL, null=True, related_name="+"
    )
    acknowledged_at = models.DateTimeField(null=True)
    snoozed_by = models.ForeignKey(USER, models.SET_NULL, null=True, related_name="+")
    snoozed_until = models.DateTimeField(null=True)
    snoozed_above = models.PositiveBigIntegerField(
        null=True
    )  # letters: then it is over
    known = models.JSONField(
        default=list
    )  # [queue, cause], as it was when that was said
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.fingerprint
