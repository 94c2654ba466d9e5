"""What stops a run of a report, in words for people."""

from __future__ import annotations


class ReportError(Exception):
    """A run ended early and published nothing."""


class ArchiveBusy(ReportError):
    """Another process copies the journal now."""

    def __str__(self) -> str:
        return (
            "Another process is copying the journal to the archive. Run the report"
            " again when it has ended."
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
