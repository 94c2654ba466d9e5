"""The progress of operations, and results of earlier resubmits by error.

A schedule is the part of an operation that changes while the operation runs: its rate,
its stage, and the event that it waits for. The operation's set of messages does not
change.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from broker.models.clients import Credential
from broker.models.moment_field import MomentField
from broker.models.operations import Operation


class OperationSchedule(models.Model):
    """The progress of one operation: its rate, its canary and ramp, and its pause.

        trial ──▶ watch ──▶ trial, three times as many … ──▶ rest
                    │▲
                    ▼│ carry on
                  halted

    A trial is sent and then watched until each of its messages has an outcome. A pause
    is independent of the stage.
    """

    class Stage(models.TextChoices):
        TRIAL = "trial"  # the canary, or a part of the ramp, is being sent
        WATCH = "watch"  # the operation waits for the outcomes of the trial
        HALTED = "halted"  # the operation has stopped itself; see ``halt``
        REST = "rest"  # all remaining messages are being sent

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="schedule"
    )
    # The plan starts by itself at this time, on behalf of the user, and of the
    # credential by which the user set it; null: when somebody starts it.
    start_at = MomentField(null=True)
    start_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
    )
    start_through = models.ForeignKey(
        Credential, models.PROTECT, null=True, related_name="+", db_index=False
    )
    # Why it did not start at that time, as a sentence; it does not try again.
    start_problem = models.TextField(blank=True, default="", db_default="")
    pace = models.PositiveIntegerField(null=True)  # messages per second; null: no limit
    # The pace allows the next message at this time.
    free_at = MomentField(null=True)
    paused_at = MomentField(null=True)
    # Time at which a worker last worked on the operation.
    stepped_at = MomentField(null=True)

    stage = models.CharField(
        max_length=8, choices=Stage, default=Stage.REST, db_default=Stage.REST
    )
    # Number of messages in the canary; 0: no trial.
    canaries = models.PositiveIntegerField(default=0, db_default=0)
    # Ids of the items of the canary.
    chosen = ArrayField(models.BigIntegerField(), default=list)
    # Fingerprints of the errors in the operation's set.
    causes = ArrayField(models.TextField(), null=True)
    # Number of items of the current trial.
    part = models.PositiveIntegerField(default=0, db_default=0)
    # Number of items of the current trial that are not sent yet.
    to_send = models.PositiveIntegerField(default=0, db_default=0)
    # Number of items of all trials sent so far.
    tried = models.PositiveIntegerField(default=0, db_default=0)
    # Id of the last item that the ramp sent.
    ramped_to = models.BigIntegerField(default=0, db_default=0)
    watched_since = MomentField(null=True)
    # The trial counts only outcomes of copies with larger message ids: those that were
    # sent after the last halt.
    forgiven_to = models.BigIntegerField(default=0, db_default=0)
    halt = models.JSONField(null=True)  # see broker.operations.canary.Halt
    rest_at = MomentField(null=True)  # time at which the rest began

    # How far the outcomes of the copies are read:
    swept_to = models.BigIntegerField(default=0, db_default=0)  # id of last item read
    look_at = MomentField(null=True)  # time of the next read of outcomes
    idle_s = models.PositiveIntegerField(default=0, db_default=0)
    # Time at which the last outcome became known.
    settled_at = MomentField(null=True)

    class Meta:
        db_table = "broker_course"


class Experience(models.Model):
    """Results of resubmitting the dead letters of one error."""

    fingerprint = models.TextField()
    processed = models.BigIntegerField(default=0)
    # Copies that became dead letters again, by any error.
    died = models.BigIntegerField(default=0)
    since = MomentField()
    last_at = MomentField()

    class Meta:
        constraints = [
            models.UniqueConstraint("fingerprint", name="one_experience_a_fingerprint")
        ]
