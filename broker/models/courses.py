"""How operations go on, and what came of resubmitting before.

A course is the changeable half of an operation: its pace, its stage, and what it waits
for. The frozen half is its set.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from broker.models.operations import Operation


class Course(models.Model):
    """How one operation goes on: how fast, what it tries first, and whether it may.

        trial ──▶ watch ──▶ trial, three times as many … ──▶ rest
                    │▲
                    ▼│ carry on
                  halted

    A trial is sent and then watched until all of it has ended. It is paused apart from
    that, in any stage.
    """

    class Stage(models.TextChoices):
        TRIAL = "trial"  # the canary, or a part of the ramp, is being sent
        WATCH = "watch"  # it waits for what became of those
        HALTED = "halted"  # it stopped itself, see ``halt``
        REST = "rest"  # everything else is being sent

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="course"
    )
    pace = models.PositiveIntegerField(null=True)  # messages a second; none: no limit
    free_at = models.DateTimeField(null=True)  # when all that was allowed was sent
    paused_at = models.DateTimeField(null=True)
    stepped_at = models.DateTimeField(null=True)  # when somebody last worked on it

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
    forgiven_to = models.BigIntegerField(default=0, db_default=0)  # copies not judged
    halt = models.JSONField(null=True)  # broker.operations.canary.Halt
    rest_at = models.DateTimeField(null=True)  # when the rest began

    # Looking at what became of the copies.
    swept_to = models.BigIntegerField(default=0, db_default=0)  # item
    look_at = models.DateTimeField(null=True)  # not before
    idle_s = models.PositiveIntegerField(default=0, db_default=0)
    settled_at = models.DateTimeField(null=True)  # nothing is open any more


class Experience(models.Model):
    """What came of resubmitting messages that had died of one error."""

    fingerprint = models.TextField()
    processed = models.BigIntegerField(default=0)
    died = models.BigIntegerField(default=0)  # again, of whatever
    since = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint("fingerprint", name="one_experience_a_fingerprint")
        ]
