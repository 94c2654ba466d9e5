"""What stops a run of a report, in words for people."""

from __future__ import annotations


class ReportError(Exception):
    """A run ended early and published nothing."""


class ArchiveBusy(ReportError):
    """Another process copies the journal, or computes a day, just now."""

    def __str__(self) -> str:
        return (
            "Another process is working on the archive. Run the report again when it"
            " has ended."
        )


class ArchiveDamaged(ReportError):
    """A file is lost, and the journal does not have its events any more."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"The file {self.path} of the archive is lost or damaged, and the journal"
            " does not go back as far. Put the file back from a copy, then run the"
            " report again."
        )


class FileLost(ReportError):
    """A file that can be made again is not there."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"The file {self.path} is lost. Run the report again: it is made anew."


class VersionUnknown(ReportError):
    """A file is of a version that this code does not know."""

    def __init__(self, path: str, version: int) -> None:
        super().__init__(path, version)
        self.path = path
        self.version = version

    def __str__(self) -> str:
        return (
            f"The file {self.path} has version {self.version}, which this release does"
            " not know. Run the reports with the release that wrote it, or a later one."
        )


class Cancelled(ReportError):
    """Somebody asked for the end of the run."""

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
            f"The check “{self.check}” does not hold: {self.expected} were expected,"
            f" and there are {self.found}. Nothing was published."
        )


class Overtaken(ReportError):
    """The run was ended by somebody else, who took this process for dead."""

    def __str__(self) -> str:
        return "The run had been ended before it could publish. Nothing was changed."
