"""Rules tables for dead letters: one for a queue, its passes and its attempts."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from broker.models.moment_field import MomentField
from broker.models.queues import Queue

USER = settings.AUTH_USER_MODEL


class RuleTable(models.Model):
    """The rules of one queue as text. The first rule that matches applies."""

    class Mode(models.TextChoices):
        """Whether passes run, and whether a pass acts or only reports."""

        OFF = "off", "off"
        OBSERVE = "observe", "observe"
        ACTIVE = "active", "active"

    queue = models.OneToOneField(Queue, models.CASCADE, related_name="rule_table")
    # The rules, in the syntax of IBM MQ's runmqdlq with extensions of this broker.
    text = models.TextField()
    mode = models.TextField(choices=Mode, default=Mode.OFF, db_default=Mode.OFF)
    revision = models.PositiveIntegerField(default=1, db_default=1)
    changed_by = models.ForeignKey(USER, models.SET_NULL, null=True, related_name="+")
    changed_at = MomentField(db_default=Now())
    acts_for = models.ForeignKey(
        USER, models.SET_NULL, null=True, related_name="+"
    )  # user who activated the table; rules act with this user's authorities
    switched_at = MomentField(null=True)

    # Progress of passes: all letters up to this id were read since the last round
    # began.
    seen_id = models.BigIntegerField(default=0, db_default=0)
    round_began_at = MomentField(null=True)
    # Reason why passes do not run.
    trouble = models.TextField(default="", db_default="")

    class Meta:
        default_permissions = ("change",)

    def __str__(self) -> str:
        return f"rules of {self.queue}"


class RulePass(models.Model):
    """One pass that acted on letters; in mode ``observe``, a pass that would have
    acted."""

    table = models.ForeignKey(RuleTable, models.CASCADE, related_name="passes")
    mode = models.TextField(choices=RuleTable.Mode)
    revision = models.PositiveIntegerField()
    began_at = MomentField()
    looked_at = models.PositiveIntegerField()  # number of letters read
    deeds = models.JSONField()  # list of broker.operations.rules.runs.Deed

    class Meta:
        ordering = ["-id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"pass {self.pk}"


class RuleAttempt(models.Model):
    """How often each rule was tried on a letter, including the letters that it is a
    copy of."""

    message_id = models.BigIntegerField()
    queue_id = models.IntegerField()
    # Message id of the copy that the rule made.
    copy_id = models.BigIntegerField(null=True)
    # Counts by rule; see broker.operations.rules.attempts.
    attempts = models.JSONField()
    tried_at = MomentField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint("message_id", "queue_id", name="one_count_a_letter")
        ]
        indexes = [
            models.Index(
                fields=["copy_id"],
                condition=models.Q(copy_id__isnull=False),
                name="broker_attempt_copy",
            )
        ]
