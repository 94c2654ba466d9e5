"""Groups of dead letters as work items: owner, note, acknowledgement, snooze."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from broker.models.moment_field import MomentField

USER = settings.AUTH_USER_MODEL


class DeadLetterGroup(models.Model):
    """Owner, note and attention of one group. The key is the fingerprint, so the row
    still applies when letters with the error come back. A new group has no row."""

    fingerprint = models.TextField(primary_key=True)
    owner = models.ForeignKey(USER, models.SET_NULL, null=True, related_name="+")
    note = models.TextField(default="", db_default="")
    ticket = models.TextField(default="", db_default="")  # URL of the ticket
    acknowledged_by = models.ForeignKey(
        USER, models.SET_NULL, null=True, related_name="+"
    )
    acknowledged_at = MomentField(null=True)
    snoozed_by = models.ForeignKey(USER, models.SET_NULL, null=True, related_name="+")
    snoozed_until = MomentField(null=True)
    snoozed_above = models.PositiveBigIntegerField(
        null=True
    )  # number of letters above which the snooze ends
    known = models.JSONField(
        default=list
    )  # [queue, cause] of each part when the group was acknowledged or snoozed
    changed_at = MomentField(db_default=Now())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.fingerprint
