"""Errors that stop a run of a report, as sentences for people."""

from __future__ import annotations

from broker.errors import BrokerError, StatedError


class NoSuchReport(BrokerError):
    """No report has this name."""

    code = "no-such-report"

    report: str

    sentence = "There is no report {report!r}."


class NoSuchRun(BrokerError):
    """A report does not have this run."""

    code = "no-such-run"

    report: str
    run: int

    sentence = "There is no run {run} of the report {report!r}."


class ReportError(StatedError):
    """A run ended early and published nothing."""


class CannotRun(ReportError):
    """A run cannot begin."""

    why: str  # a sentence

    sentence = "{why}"


class ArchiveBusy(ReportError):
    """Another process copies the journal or builds a day."""

    sentence = (
        "Another process is working on the archive. Run the report again when it has"
        " ended."
    )


class ArchiveDamaged(ReportError):
    """A file is lost, and the journal no longer has its events."""

    path: str

    sentence = (
        "The file {path} of the archive is lost or damaged, and the journal no longer"
        " has its events. Restore the file from a backup, then run the report again."
    )


class ArchiveUnusable(ReportError):
    """The place that ``BACKOUT_ARCHIVE`` names cannot be reached."""

    where: str
    why: str

    def __str__(self) -> str:
        return (
            f"The archive {self.where} cannot be used: {self.why[:300]}. Nothing was"
            " changed. See BACKOUT_ARCHIVE, then run the report again."
        )


class FileLost(ReportError):
    """A file that can be built again is missing."""

    path: str

    sentence = "The file {path} is missing. Run the report again to rebuild it."


class VersionUnknown(ReportError):
    """A file has a version that this code cannot read."""

    path: str
    version: int

    sentence = (
        "The file {path} has version {version}, which this release cannot read. Run"
        " reports with the release that wrote it, or a later one."
    )


class Cancelled(ReportError):
    """Somebody cancelled the run."""

    sentence = "The run was cancelled. Nothing was changed."


class QualityBroken(ReportError):
    """Two numbers that must agree do not."""

    check: str
    found: int
    expected: int

    sentence = (
        "The check “{check}” failed: expected {expected}, found {found}. Nothing was"
        " published. Run the report again; if the check fails again, report it as a"
        " bug."
    )


class Overtaken(ReportError):
    """Another process has ended the run, because it took this process for dead."""

    sentence = (
        "Another process ended this run before it could publish. Nothing was changed."
        " Run the report again."
    )
