"""Approvals of operations by a second person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from broker.models.moment_field import MomentField
from broker.models.operations import Operation


class Approval(models.Model):
    """The approval of one frozen plan: requested, or given.

    The seal is a digest of the plan, so that the approval is for exactly this plan.
    """

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="approval"
    )
    seal = models.TextField()  # digest of the plan, in hexadecimal digits
    asked_at = MomentField(db_default=Now())
    # After this time, the operation can be neither approved nor started.
    expires_at = MomentField()
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    approved_at = MomentField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                name="who_approved_and_when_go_together",
                condition=Q(approved_by__isnull=True, approved_at__isnull=True)
                | Q(approved_by__isnull=False, approved_at__isnull=False),
            ),
        ]
