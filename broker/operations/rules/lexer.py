"""Join the lines of a rules table to entries; keep the position of each character.

    REASON(MQRC_Q_FULL) +          continues at the first character of the next line
      ACTION(RETRY) RETRY(5)
    APPLNAME('ABC-                 continues at the first column of the next line,
      D') ACTION(IGNORE)           so this is 'ABC  D'
    * a comment
    *! FINGERPRINT(...) ...        a rule that is a comment for IBM MQ

A rule with extensions is written as a comment of the second kind. So IBM MQ's handler
ignores the whole rule, and does not read it as one that matches more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from broker.errors.rules import RuleFault

OURS = "*!"
COMMENT = "*"
FROM_FIRST_CHARACTER, FROM_START = "+", "-"
BLANKS = " \t"


@dataclass(slots=True)
class LexedRule:
    """Control data or one rule of a table, as text."""

    is_comment: bool  # whether IBM MQ reads the entry as a comment
    text: str = ""
    # Line and column of each character.
    spots: list[tuple[int, int]] = field(default_factory=list)

    def add(self, text: str, line: int, column: int) -> None:
        self.text += text
        self.spots += [(line, column + place) for place in range(len(text))]

    def fault(self, at: int, why: str) -> RuleFault:
        """A fault at a character of an entry, or after its last character."""
        if at < len(self.spots):
            return RuleFault(*self.spots[at], why)
        line, column = self.spots[-1]
        return RuleFault(line, column + 1, why)

    @property
    def line(self) -> int:
        return self.spots[0][0]


def entries(text: str, faults: list[RuleFault]) -> Iterator[LexedRule]:
    """The entries of a table; faults of their lines are added to ``faults``."""
    entry: LexedRule | None = None
    sign = FROM_FIRST_CHARACTER  # blanks before an entry are ignored
    for number, column, said, is_comment in lines(text):
        entry = entry or LexedRule(is_comment)
        if entry.is_comment != is_comment:
            why = "this line stands within another rule, which goes on above and below"
            faults.append(RuleFault(number, 1, why))
            continue
        if sign == FROM_FIRST_CHARACTER:
            blanks = len(said) - len(said.lstrip(BLANKS))
            column, said = column + blanks, said[blanks:]
        ended = said.rstrip(BLANKS)
        goes_on = ended[-1] in (FROM_FIRST_CHARACTER, FROM_START)
        entry.add(ended[:-1] if goes_on else ended, number, column)
        sign = ended[-1] if goes_on else FROM_FIRST_CHARACTER
        if not goes_on:
            yield entry
            entry = None
    if entry is not None and entry.spots:
        faults.append(
            entry.fault(len(entry.text), "the table ends, but this rule goes on")
        )


def lines(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """The lines that are neither empty nor comments: number, column of the first
    character, the text, and whether it is a comment for IBM MQ."""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        is_comment = line.startswith(OURS)
        said = line.removeprefix(OURS) if is_comment else line
        is_for_people = line.startswith(COMMENT) and not is_comment
        if said.strip(BLANKS) and not is_for_people:
            yield number, 1 + len(line) - len(said), said, is_comment
