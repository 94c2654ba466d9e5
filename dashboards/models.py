"""What dashboards keep: the archive's list of files, runs of reports, and results.

Nothing here is needed to see a message through. The archive and the results can be made
again for as long as the journal is kept.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from broker.models import DeadLetter


class ExportWindow(models.Model):
    """One stretch of the journal and the file it went to; together, the manifest.

    Holds the transactions from ``lo`` up to, without, ``hi``. All had ended when the
    window was opened, so it is complete and never changes: who dies between opening
    and closing it leaves work that can be repeated, into the same file.
    """

    class State(models.TextChoices):
        OPEN = "open"  # its file may be missing, or half there under another name
        DONE = "done"

    n = models.PositiveIntegerField(primary_key=True)  # counts up from 1
    lo = models.BigIntegerField()
    hi = models.BigIntegerField()
    path = models.TextField()  # below the archive
    opened_at = models.DateTimeField(db_default=Now())
    state = models.CharField(max_length=4, choices=State, default=State.OPEN)
    rows = models.BigIntegerField(null=True)
    checksum = models.CharField(max_length=64, null=True)  # SHA-256 of the file
    first_at = models.DateTimeField(null=True)  # of its events; null without any
    last_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        ordering = ["n"]
        constraints = [
            models.UniqueConstraint("lo", name="windows_begin_once"),
            models.UniqueConstraint(
                "state", name="one_window_is_open", condition=Q(state="open")
            ),
            models.CheckConstraint(
                name="windows_hold_something", condition=Q(hi__gt=F("lo"))
            ),
            models.CheckConstraint(
                name="done_windows_have_a_file",
                condition=Q(state="open")
                | Q(rows__isnull=False, checksum__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"window {self.n}"


class ReportRun(models.Model):
    """One run of one report, from the asking to its end."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"  # ``error`` says why

    report = models.CharField(max_length=64)  # its slug
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )  # null is the clock
    requested_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    stage = models.TextField(blank=True)  # what it does now, for people
    progress = models.FloatField(default=0)  # from 0 to 1
    error = models.TextField(blank=True)  # a sentence
    as_of = models.DateTimeField(null=True)  # everything before this is counted
    through = models.PositiveIntegerField(null=True)  # the last window counted
    rows = models.PositiveIntegerField(null=True)  # written, in the days it counted

    class Meta:
        default_permissions = ()
        permissions = [
            ("view_report", "Can read reports"),
            ("run_report", "Can run reports"),
        ]
        ordering = ["-id"]
        indexes = [models.Index(fields=["report", "-id"], name="report_run_last")]
        constraints = [
            models.UniqueConstraint(
                "report",
                name="one_run_of_a_report_at_a_time",
                condition=Q(state__in=["waiting", "running"]),
            ),
            models.CheckConstraint(
                name="progress_is_a_share",
                condition=Q(progress__gte=0, progress__lte=1),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.report}, run {self.pk}"

    @property
    def is_active(self) -> bool:
        return self.state in {self.State.WAITING, self.State.RUNNING}

    @property
    def percent(self) -> int:
        return int(self.progress * 100)


class DeadLetterDay(models.Model):
    """How many entries one queue lost to one cause on one day (UTC)."""

    day = models.DateField()
    queue = models.TextField()  # its name when the event was archived
    cause = models.TextField()
    dead_letters = models.PositiveBigIntegerField()
    last_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        ordering = ["-day", "queue", "cause"]
        constraints = [
            models.UniqueConstraint(
                fields=["day", "queue", "cause"], name="one_row_a_day_queue_and_cause"
            )
        ]

    def __str__(self) -> str:
        return f"{self.queue} on {self.day}: {self.dead_letters} {self.cause}"

    @property
    def cause_word(self) -> str:
        return cause_word(self.cause)


def cause_word(cause: str) -> str:
    """A cause for people; one that the broker does not know, as it was written."""
    return str(dict(DeadLetter.Cause.choices).get(cause, cause))
