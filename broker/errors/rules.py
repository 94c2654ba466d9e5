"""Errors of rules for dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker.errors import BrokerError

NAMED = 3  # The error's sentence names at most this many faults.


@dataclass(frozen=True, slots=True, order=True)
class RuleFault:
    """An error in a rules table; lines and columns count from 1."""

    line: int
    column: int
    why: str

    def __str__(self) -> str:
        end = "" if self.why.endswith("?") else "."
        return f"Line {self.line}, column {self.column}: {self.why}{end}"


class InvalidRules(BrokerError):
    """A rules table has errors; nothing was changed."""

    code = "invalid-rules"

    faults: Sequence[RuleFault]

    def __str__(self) -> str:
        words = " ".join(str(one) for one in self.faults[:NAMED])
        more = len(self.faults) - NAMED
        return words + (f" And {more} more." if more > 0 else "")


class RulesChanged(BrokerError):
    """Somebody else has saved the rules since they were read."""

    code = "rules-changed"

    queue: str
    revision: int

    sentence = (
        "Somebody else saved the rules of {queue} meanwhile; they are now revision"
        " {revision}. Read them again, and change that revision."
    )


class NoSuchRules(BrokerError):
    """A queue has no rules."""

    code = "no-such-rules"

    queue: str

    sentence = "{queue} has no rules. Create them under Dead letters, Rules."
