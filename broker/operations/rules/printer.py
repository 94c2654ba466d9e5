"""Print a rules table as text. Parsing the text gives an equal table; IBM MQ can read
the text, too, except rules with extensions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from broker.operations.rules.keywords import FROM_LETTER, KEYWORDS, name_of
from broker.operations.rules.lexer import (
    COMMENT,
    FROM_FIRST_CHARACTER,
    FROM_START,
    OURS,
)
from broker.operations.rules.table import Action, Control, Rule, Table

WIDTH = 72  # most characters of a line that IBM MQ reads on every platform
INDENT = "  "
PLAIN = re.compile(r"[A-Z0-9./_%*?]+")


def write(table: Table) -> str:
    """The text of a table."""
    lines = list(wrapped(control_words(table.control), ""))
    for rule in table.rules:
        lines += wrapped(rule_words(rule), OURS if rule.is_ours else "")
    return "".join(f"{line}\n" for line in lines)


def control_words(control: Control) -> list[str]:
    default = Control()
    words = []
    if control.input_manager:
        words.append(f"INPUTQM({quoted(control.input_manager)})")
    if control.input_queue:
        words.append(f"INPUTQ({quoted(control.input_queue)})")
    if control.retry_interval_s != default.retry_interval_s:
        words.append(f"RETRYINT({control.retry_interval_s})")
    if control.wait != default.wait:
        words.append(f"WAIT({control.wait})")
    return words


def rule_words(rule: Rule) -> list[str]:
    words = [f"{key}({written(key, value)})" for key, value in rule.patterns]
    words.append(f"ACTION({rule.action})")
    if rule.forward_queue:
        words.append(f"FWDQ({named('FWDQ', rule.forward_queue)})")
    if rule.forward_manager:
        words.append(f"FWDQM({named('FWDQM', rule.forward_manager)})")
    if rule.action is Action.FWD and rule.keeps_header:
        words.append("HEADER(YES)")
    if not rule.keeps_header:
        words.append("HEADER(NO)")
    if rule.as_sender:
        words.append("PUTAUT(CTX)")
    if rule.retry != 1:
        words.append(f"RETRY({rule.retry})")
    return words


def written(key: str, value: str | int) -> str:
    return name_of(KEYWORDS[key], value) if isinstance(value, int) else quoted(value)


def named(key: str, name: str) -> str:
    return name if name in FROM_LETTER[key] else quoted(name)


def quoted(text: str) -> str:
    """The text, in quotes if it needs quotes."""
    if PLAIN.fullmatch(text):
        return text
    return "'" + (text.replace("'", "''") or " ") + "'"


def wrapped(words: Iterable[str], prefix: str) -> Iterator[str]:
    """One entry as lines of at most ``WIDTH`` characters."""
    room = WIDTH - len(prefix) - 2  # room for a blank and the continuation sign
    line, margin = "", ""
    for word in words:
        if line and len(margin + line) + 1 + len(word) > room:
            yield f"{prefix}{margin}{line} {FROM_FIRST_CHARACTER}"
            line, margin = "", INDENT
        line = f"{line} {word}" if line else word
        while len(margin + line) > room:
            cut = fitting(line, room - len(margin))
            yield f"{prefix}{margin}{line[:cut]}{FROM_START}"
            line, margin = line[cut:], ""
    if line:
        yield f"{prefix}{margin}{line}"


def fitting(line: str, room: int) -> int:
    """The position at which to cut a line so that the next line does not begin like a
    comment."""
    cut = room
    while cut > 1 and line[cut : cut + 1] == COMMENT:
        cut -= 1
    return cut
