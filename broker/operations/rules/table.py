"""A rules table as a value: control data, and rules in order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from broker.operations.rules.keywords import KEYWORDS, NAME

ANY = "*"
RETRY_INTERVAL_S = 60


class Action(StrEnum):
    """The action of a rule on a letter."""

    DISCARD = "DISCARD"
    IGNORE = "IGNORE"
    RETRY = "RETRY"
    FWD = "FWD"


@dataclass(frozen=True, slots=True)
class Control:
    """Control data of a table. An empty name means the queue that has the rules."""

    input_queue: str = ""
    input_manager: str = ""
    retry_interval_s: int = RETRY_INTERVAL_S
    # YES, NO, or seconds. The value has no effect: passes are always repeated.
    wait: str = "YES"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: patterns that a letter must match, and the action.

    Patterns are pairs of keyword and value in the order of ``KEYWORDS``: a text with
    wildcards, or a number. A pattern that matches everything is left out.
    """

    action: Action
    patterns: tuple[tuple[str, str | int], ...] = ()
    # Name of a queue; &DESTQ or &REPLYQ: the name is in the letter.
    forward_queue: str = ""
    forward_manager: str = ""
    keeps_header: bool = True
    as_sender: bool = False  # use the authorities of the letter's user: PUTAUT(CTX)
    retry: int = 1
    # Number of the line where the rule begins.
    line: int = field(default=0, compare=False)

    @property
    def is_ours(self) -> bool:
        """Whether the rule has extensions of this broker, so that IBM MQ cannot read
        it."""
        names = [str(v) for key, v in self.patterns if key in ("DESTQ", "REPLYQ")]
        return any(KEYWORDS[key].is_ours for key, _ in self.patterns) or any(
            len(name.replace(ANY, "")) > NAME for name in (*names, self.forward_queue)
        )

    @property
    def key(self) -> str:
        """A digest of the rule without its position; attempts are counted for each
        digest."""
        said = repr((self.action, self.patterns, *self.consequence))
        return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:12]

    @property
    def consequence(self) -> tuple[object, ...]:
        return (
            self.forward_queue,
            self.forward_manager,
            self.keeps_header,
            self.as_sender,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """All rules of one queue."""

    rules: tuple[Rule, ...]
    control: Control = Control()
