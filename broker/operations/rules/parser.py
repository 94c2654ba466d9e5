"""Parse a rules table: from text to rules, or to all faults with their positions.

Source:
    IBM MQ documentation, "DLQ rules table conventions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from broker.errors.rules import InvalidRules, RuleFault
from broker.operations.rules.keywords import KEYWORDS, Keyword, KeywordPosition
from broker.operations.rules.lexer import LexedRule, entries
from broker.operations.rules.table import Action, Control, Rule, Table
from broker.operations.rules.values import Value, WrongValueError, near, value_of

LENGTH = 200_000  # most characters of a table
MOST = 500  # most rules of a table
FAULTS = 50  # most faults reported at once
KEPT = 64  # most parsed tables in the cache

GAP = re.compile(r"[ \t,]*")
BLANKS = re.compile(r"[ \t]*")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
QUOTED = re.compile(r"'((?:[^']|'')*+)'")
BARE = re.compile(r"[^\s()',]*")


@dataclass(frozen=True, slots=True)
class KeywordValue:
    """A keyword with its value, and the positions of both in their entry."""

    keyword: Keyword
    value: Value
    at: int
    value_at: int


def read(text: str, *, queue: str = "") -> Table:
    """Parse a table.

    Args:
        text: the text of the table.
        queue: the queue of the table, if it is known.

    Raises:
        InvalidRules: with all faults, in the order of the text.
    """
    found = read_once(text, queue)
    if isinstance(found, Table):
        return found
    raise InvalidRules(found)


@lru_cache(KEPT)
def read_once(text: str, queue: str) -> Table | tuple[RuleFault, ...]:
    if len(text) > LENGTH:
        return (RuleFault(1, 1, f"a table has at most {LENGTH:,} characters"),)
    faults: list[RuleFault] = []
    table = table_of(text, queue, faults)
    if not table.rules and not faults:
        faults.append(RuleFault(1, 1, "a table has at least one rule"))
    for one in table.rules[MOST : MOST + 1]:
        faults.append(RuleFault(one.line, 1, f"a table has at most {MOST} rules"))
    return tuple(sorted(faults)[:FAULTS]) if faults else table


def table_of(text: str, queue: str, faults: list[RuleFault]) -> Table:
    """The table without the entries that have faults; the faults are added to
    ``faults``."""
    control, rules = Control(), []
    for number, entry in enumerate(entries(text, faults)):
        said = list(keywords(entry, faults))
        places = {one.keyword.place for one in said}
        if KeywordPosition.CONTROL in places:
            if number or len(places) > 1:
                why = "control data is the first entry of a table, and stands alone"
                faults.append(entry.fault(said[0].at, why))
            control = control_of(entry, said, queue, faults)
        elif said:
            rule = rule_of(entry, said, queue, faults)
            rules += [] if rule is None else [rule]
    return Table(tuple(rules), control)


def keywords(entry: LexedRule, faults: list[RuleFault]) -> Iterator[KeywordValue]:
    """The keywords of an entry with their values. A keyword with a wrong value is left
    out."""
    at, seen = 0, set()
    text = entry.text
    while (at := end_of(GAP, text, at)) < len(text):
        word = WORD.match(text, at)
        if word is None:
            why = f"{text[at]} stands where a keyword should"
            faults.append(entry.fault(at, why))
            return
        value_at = end_of(BLANKS, text, word.end())
        if text[value_at : value_at + 1] != "(":
            why = f"{word[0][:32]} needs a value in parentheses"
            faults.append(entry.fault(value_at, why))
            at = word.end()
            continue
        value_at = end_of(BLANKS, text, value_at + 1)
        value = QUOTED.match(text, value_at) or BARE.match(text, value_at)
        assert value is not None
        closes_at = end_of(BLANKS, text, value.end())
        if text[closes_at : closes_at + 1] != ")":
            faults.append(entry.fault(closes_at, unclosed(text, value_at, closes_at)))
            return
        name = word[0].upper()
        if name in seen:
            faults.append(entry.fault(at, f"{name} stands twice in one entry"))
        seen.add(name)
        said = understood(entry, at, value_at, name, value[0], faults)
        if said is not None:
            yield said
        at = closes_at + 1


def understood(
    entry: LexedRule,
    at: int,
    value_at: int,
    name: str,
    raw: str,
    faults: list[RuleFault],
) -> KeywordValue | None:
    keyword = KEYWORDS.get(name)
    if keyword is None:
        why = f"there is no keyword {name[:32]}{near(name, KEYWORDS)}"
        faults.append(entry.fault(at, why))
        return None
    try:
        return KeywordValue(keyword, value_of(keyword, raw), at, value_at)
    except WrongValueError as wrong:
        faults.append(entry.fault(value_at + wrong.at, wrong.why))
        return None


def end_of(what: re.Pattern[str], text: str, at: int) -> int:
    found = what.match(text, at)
    assert found is not None
    return found.end()


def unclosed(text: str, value_at: int, at: int) -> str:
    if text[value_at : value_at + 1] == "'" and text.count("'", value_at) % 2:
        return "these quotes are not closed"
    if at >= len(text):
        return "the parenthesis is not closed"
    return f"{text[at]} stands within a value; put such a value in single quotes"


def control_of(
    entry: LexedRule, said: list[KeywordValue], queue: str, faults: list[RuleFault]
) -> Control:
    found = {one.keyword.name: one for one in said}
    values = {name: one.value for name, one in found.items()}
    named = str(values.get("INPUTQ", ""))
    if named and queue and named != queue:
        why = f"these are the rules of {queue}; leave INPUTQ blank, or name it"
        faults.append(entry.fault(found["INPUTQ"].value_at, why))
    default = Control()
    interval_s = values.get("RETRYINT", default.retry_interval_s)
    assert isinstance(interval_s, int)
    manager, wait = values.get("INPUTQM", ""), values.get("WAIT", default.wait)
    return Control(named, str(manager), interval_s, str(wait))


def rule_of(
    entry: LexedRule, said: list[KeywordValue], queue: str, faults: list[RuleFault]
) -> Rule | None:
    """The rule of an entry; None if the entry has no action."""
    found = {one.keyword.name: one for one in said}
    values = {name: one.value for name, one in found.items()}
    wanted = Action(str(values["ACTION"])) if "ACTION" in values else None
    if wanted is None:
        if "ACTION" not in entry.text.upper():
            why = "this rule has no ACTION: DISCARD, IGNORE, RETRY or FWD"
            faults.append(entry.fault(0, why))
        return None
    forward = str(values.get("FWDQ", ""))
    if wanted is Action.FWD and "FWDQ" not in entry.text.upper():
        why = "ACTION(FWD) needs FWDQ, the queue to forward to"
        faults.append(entry.fault(found["ACTION"].at, why))
    if wanted is Action.FWD and queue and forward == queue:
        why = f"a rule cannot forward to {queue}, which is where it finds its letters"
        faults.append(entry.fault(found["FWDQ"].value_at, why))
    return Rule(
        wanted,
        tuple(
            (name, value)
            for name, keyword in KEYWORDS.items()
            if keyword.is_pattern and (value := values.get(name)) is not None
        ),
        forward,
        str(values.get("FWDQM", "")),
        values.get("HEADER", "YES") == "YES",
        values.get("PUTAUT", "DEF") == "CTX",
        int(values.get("RETRY") or 1),
        entry.line,
    )
