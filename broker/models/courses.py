"""The progress of operations, and results of earlier resubmits by error.

A course is the part of an operation that changes while it runs: its rate, its stage,
and what it waits for. Its set of messages does not change.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from broker.models.operations import Operation


class Course(models.Model):
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
        WATCH = "watch"  # it waits for the outcomes of the trial
        HALTED = "halted"  # it stopped itself; see ``halt``
        REST = "rest"  # all remaining messages are being sent

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="course"
    )
    pace = models.PositiveIntegerField(null=True)  # messages a second; none: no limit
    free_at = models.DateTimeField(null=True)  # the rate allows the next message then
    paused_at = models.DateTimeField(null=True)
    stepped_at = models.DateTimeField(null=True)  # when a worker last worked on it

    stage = models.CharField(
        max_length=8, choices=Stage, default=Stage.REST, db_default=Stage.REST
    )
    canaries = models.PositiveIntegerField(default=0, db_default=0)  # 0: no trial
    chosen = ArrayField(models.BigIntegerField(), default=list)  # items: the canary
    causes = ArrayField(models.TextField(), null=True)  # fingerprints in its set
    part = models.PositiveIntegerField(default=0, db_default=0)  # items of this trial
    to_send = models.PositiveIntegerField(default=0, db_default=0)  # of them
    tried = models.PositiveIntegerField(default=0, db_default=0)  # items of all trials
    ramped_to = models.BigIntegerField(default=0, db_default=0)  # last item of the ramp
    watched_since = models.DateTimeField(null=True)
    forgiven_to = models.BigIntegerField(default=0, db_default=0)  # copies ignored
    halt = models.JSONField(null=True)  # broker.operations.canary.Halt
    rest_at = models.DateTimeField(null=True)  # when the rest began

    # Reading the outcomes of the copies.
    swept_to = models.BigIntegerField(default=0, db_default=0)  # item
    look_at = models.DateTimeField(null=True)  # the next read is not before this
    idle_s = models.PositiveIntegerField(default=0, db_default=0)
    settled_at = models.DateTimeField(null=True)  # when the last outcome was known


class Experience(models.Model):
    """Results of resubmitting the dead letters of one error."""

    fingerprint = models.TextField()
    processed = models.BigIntegerField(default=0)
    died = models.BigIntegerField(default=0)  # again, of any error
    since = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint("fingerprint", name="one_experience_a_fingerprint")
        ]
