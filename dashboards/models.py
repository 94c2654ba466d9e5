"""Tables of the dashboards: manifest of the archive, runs of reports, results.

No message depends on them. All but the archive can be made again from it, and the
archive from the journal as long as that is kept.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from broker.models import DeadLetter


class ExportWindow(models.Model):
    """A range of the journal's transactions, exported to one file per day.

    It holds transactions from ``lo`` up to, but not including, ``hi``. All had ended
    when the window was opened, so it is complete and never changes. A process that dies
    before closing it leaves work that can be repeated into the same files.
    """

    class State(models.TextChoices):
        OPEN = "open"  # files of the window may be missing or incomplete
        DONE = "done"

    n = models.PositiveIntegerField(primary_key=True)  # counts up from 1
    lo = models.BigIntegerField()
    hi = models.BigIntegerField()
    opened_at = models.DateTimeField(db_default=Now())
    state = models.CharField(max_length=4, choices=State, default=State.OPEN)
    rows = models.BigIntegerField(null=True)

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
                name="done_windows_are_counted",
                condition=Q(state="open") | Q(rows__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"window {self.n}"


class ArchiveFile(models.Model):
    """One Parquet file of the manifest. Files that are not listed are not read.

    A replaced file stays for a while, for readers that still use it.
    """

    table = models.CharField(max_length=80)  # bronze, deliveries …, or gold/<report>
    day = models.DateField()  # the first day (UTC) of the file's rows
    last_day = models.DateField()  # equal to ``day``, except in files of old versions
    version = models.PositiveSmallIntegerField()  # the version of the file's schema
    path = models.TextField()  # the path below the archive's folder
    rows = models.BigIntegerField()
    checksum = models.CharField(max_length=64)  # SHA-256 of the file
    # Only for files of the journal's events: the range of transaction ids, and the
    # number of the newest window with events in the file.
    lo = models.BigIntegerField(null=True)
    hi = models.BigIntegerField(null=True)
    window = models.PositiveIntegerField(null=True)
    made_at = models.DateTimeField(db_default=Now())
    replaced_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        ordering = ["day", "lo", "path"]
        indexes = [
            models.Index(
                fields=["table", "day"],
                name="archive_file_current",
                condition=Q(replaced_at__isnull=True),
            )
        ]
        constraints = [
            models.UniqueConstraint("path", name="files_are_listed_once"),
            models.CheckConstraint(
                name="files_end_after_they_begin", condition=Q(last_day__gte=F("day"))
            ),
        ]

    def __str__(self) -> str:
        return self.path


class PublishedDay(models.Model):
    """The published version of one day, and its inputs. A day whose inputs have changed
    is made again.
    """

    table = models.CharField(max_length=80)  # silver, or gold/<report>
    day = models.DateField()
    version = models.BigIntegerField()  # the id of the run that made this version
    # For silver: the newest export window with events of the day. For a report: the
    # version of silver that its rows were made from.
    source = models.BigIntegerField()
    # the value of ``opened`` of the day before, when this version was made
    before = models.BigIntegerField(null=True)
    # only for silver: the checksum of the stays that were open at the end of the day
    opened = models.BigIntegerField(null=True)
    # Only for silver: the lowest message id whose put the archive has, up to this day.
    # Messages with lower ids may have been put before the archive began.
    floor = models.BigIntegerField(null=True)
    # the version of the code that made the rows
    code = models.PositiveSmallIntegerField()
    rows = models.BigIntegerField()
    published_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        ordering = ["table", "day"]
        constraints = [
            models.UniqueConstraint(
                fields=["table", "day"], name="each_day_is_published_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.table} of {self.day}"


class ReportRun(models.Model):
    """One run of one report, from request to end."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"  # ``error`` says why
        CANCELLED = "cancelled"  # ``error`` names the user who cancelled the run

    report = models.CharField(max_length=64)  # the slug of the report
    parameters = models.JSONField(default=dict, db_default={}, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )  # null: the schedule requested the run
    requested_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)  # when a cancel was requested
    ended_at = models.DateTimeField(null=True)
    stage = models.TextField(blank=True)  # the present stage, for people
    progress = models.FloatField(default=0)  # from 0 to 1
    error = models.TextField(blank=True)  # why the run stopped, in a sentence
    as_of = models.DateTimeField(null=True)  # all events before this are included
    # the number of the newest export window when the run counted
    through = models.PositiveIntegerField(null=True)
    # the number of rows that the run wrote, for all days that it built
    rows = models.PositiveIntegerField(null=True)
    # what was checked before the run published, as ``reports.quality.CheckResult``
    checks = models.JSONField(default=list, db_default=[], blank=True)

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
                "parameters",
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

    @property
    def duration(self) -> timedelta | None:
        """The duration of the run; None before it ends."""
        if self.started_at and self.ended_at:
            return self.ended_at - self.started_at
        return None


class ReportRow(models.Model):
    """One row of a report: of a day, or of a run that had parameters."""

    report = models.CharField(max_length=64)  # the slug of the report
    day = models.DateField(null=True)
    run = models.ForeignKey(
        ReportRun, models.CASCADE, null=True, related_name="results"
    )
    n = models.PositiveIntegerField()  # the row's order within the day or the run
    cells = models.JSONField()  # cells by the names of the report's columns

    class Meta:
        default_permissions = ()
        ordering = ["-day", "n"]
        indexes = [
            models.Index(fields=["report", "-day", "n"], name="report_row_day"),
            models.Index(fields=["run", "n"], name="report_row_run"),
        ]
        constraints = [
            models.CheckConstraint(
                name="rows_are_of_a_day_or_of_a_run",
                condition=Q(day__isnull=False) ^ Q(run__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.report}, {self.day or self.run}, row {self.n}"


def cause_word(cause: str) -> str:
    """The text of a cause; unknown causes unchanged."""
    return str(dict(DeadLetter.Cause.choices).get(cause, cause))
