"""Errors that stop a run of a report, as sentences for people."""

from __future__ import annotations


class ReportError(Exception):
    """A run ended early and published nothing."""


class ArchiveBusy(ReportError):
    """Another process copies the journal or builds a day."""

    def __str__(self) -> str:
        return (
            "Another process is working on the archive. Run the report again when it"
            " has ended."
        )


class ArchiveDamaged(ReportError):
    """A file is lost, and the journal no longer has its events."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"The file {self.path} of the archive is lost or damaged, and the journal"
            " no longer has its events. Restore the file from a backup, then run the"
            " report again."
        )


class ArchiveUnusable(ReportError):
    """The place that ``BACKOUT_ARCHIVE`` names cannot be reached."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where = where
        self.why = why

    def __str__(self) -> str:
        return (
            f"The archive {self.where} cannot be used: {self.why[:300]}. Nothing was"
            " changed. See BACKOUT_ARCHIVE, then run the report again."
        )


class FileLost(ReportError):
    """A file that can be built again is missing."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"The file {self.path} is missing. Run the report again to rebuild it."


class VersionUnknown(ReportError):
    """A file has a version that this code cannot read."""

    def __init__(self, path: str, version: int) -> None:
        super().__init__(path, version)
        self.path = path
        self.version = version

    def __str__(self) -> str:
        return (
            f"The file {self.path} has version {self.version}, which this release"
            " cannot read. Run reports with the release that wrote it, or a later one."
        )


class Cancelled(ReportError):
    """Somebody cancelled the run."""

    def __str__(self) -> str:
        return "The run was cancelled. Nothing was changed."


class QualityBroken(ReportError):
    """Two numbers that must agree do not."""

    def __init__(self, check: str, found: int, expected: int) -> None:
        super().__init__(check, found, expected)
        self.check = check
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return (
            f"The check “{self.check}” failed: expected {self.expected}, found"
            f" {self.found}. Nothing was published. Run the report again; if the check"
            " fails again, report it as a bug."
        )


class Overtaken(ReportError):
    """Another process has ended the run, because it took this process for dead."""

    def __str__(self) -> str:
        return (
            "Another process ended this run before it could publish. Nothing was"
            " changed. Run the report again."
        )
