"""Routing keys and header bindings of AMQP 0-9-1 as selectors.

Source:
    AMQP 0-9-1, "Exchange Types": ``*`` stands for one word, ``#`` for any number.
    RabbitMQ, rabbit_router.erl, rabbit_exchange_type_topic.erl (an empty key has no
    words), rabbit_exchange_type_headers.erl.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, product
from typing import Any

ESCAPE = "\\"
WILD = ("*", "#")
PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
RESERVED = {
    *("AND", "OR", "NOT", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "TRUE", "FALSE"),
    "NULL",
}
NEARLY = (
    "Its selector also takes keys with other words between: no selector counts words"
    " before a #. Let the consumer check the subject."
)


def of_keys(keys: Sequence[str], *, is_topic: bool) -> tuple[str, list[str]]:
    """A selector for the messages with one of these keys as their subject; empty: all.
    And the patterns that no selector can say exactly.

    Args:
        keys: routing keys of a direct exchange, or patterns of a topic exchange.
        is_topic: whether ``*`` and ``#`` stand for words.
    """
    wild = [key for key in keys if is_topic and set(WILD) & set(key.split("."))]
    if "#" in wild:
        return "", []
    plain = [key for key in dict.fromkeys(keys) if key not in wild]
    parts = [like(key) for key in dict.fromkeys(wild)]
    named = [key for key in plain if key]
    if len(named) == 1:
        parts.insert(0, f"JMSType = {text(named[0])}")
    elif named:
        parts.insert(0, f"JMSType IN ({', '.join(map(text, named))})")
    if "" in plain:  # a message without a subject has an empty key
        parts.append("JMSType IS NULL OR JMSType = ''")
    nearly = [key for key in dict.fromkeys(wild) if not is_exact(key)]
    if len(parts) > 1:
        parts = [f"({one})" if " AND " in one else one for one in parts]
    return " OR ".join(parts), nearly


def is_exact(pattern: str) -> bool:
    """Whether each run of wildcards has a ``#``, or none has."""
    runs = [run for is_wild, run in runs_of(pattern) if is_wild]
    return len({"#" in run for run in runs}) == 1


def runs_of(pattern: str) -> list[tuple[bool, list[str]]]:
    """The words of a pattern, wildcards and others apart."""
    grouped = groupby(pattern.split("."), key=lambda word: word in WILD)
    return [(is_wild, list(words)) for is_wild, words in grouped]


def like(pattern: str) -> str:
    """A condition for one topic pattern with wildcards."""
    # Alternatives, each a list of words; None: any text with at least one word.
    forms: list[list[str | None]] = [[]]
    for is_wild, words in runs_of(pattern):
        ways: list[list[str | None]] = [list(words)]
        if is_wild:
            ways = [[None] * words.count("*")]
            # A # without a * matches no word, or some words.
            ways += [] if ways[0] else [[None]]
        forms = [[*form, *way] for form, way in product(forms, ways)]
    condition = " OR ".join(map(of_form, forms))
    if "#" in pattern.split("."):
        return "JMSType <> ''" if forms == [[None]] else condition
    # Pattern of keys with more words.
    more = ".".join("%" for _ in [*pattern.split("."), ""])
    some = " AND JMSType <> ''" if pattern == "*" else ""  # an empty key has no word
    return f"{condition} AND JMSType NOT LIKE '{more}'{some}"


def of_form(words: Sequence[str | None]) -> str:
    named = [one for one in words if one is not None]
    if len(named) == len(words):
        return f"JMSType = {text('.'.join(named))}"
    pattern = ".".join("%" if one is None else escaped(one) for one in words)
    how = f" ESCAPE '{ESCAPE}'" if ESCAPE in pattern else ""
    return f"JMSType LIKE '{pattern}'{how}"


def matches(pattern: str, key: str, *, is_topic: bool) -> bool:
    """Whether a binding takes a routing key."""
    if not is_topic:
        return pattern == key
    words = key.split(".") if key else []
    return matches_words(pattern.split(".") if pattern else [], words)


def matches_words(pattern: Sequence[str], words: Sequence[str]) -> bool:
    reached = {0}  # Positions in the pattern that the words so far can reach.
    for word in [*words, None]:
        for at in range(len(pattern)):
            if at in reached and pattern[at] == "#":
                reached.add(at + 1)
        if word is None:
            break
        reached = {
            at if pattern[at] == "#" else at + 1
            for at in reached
            if at < len(pattern) and pattern[at] in (*WILD, word)
        }
    return len(pattern) in reached


def of_headers(bindings: Sequence[Mapping[str, Any]]) -> str | None:
    """A selector for the messages that one of the bindings of a headers exchange takes;
    empty: all; None: no message.

    A header without a value only has to be there; those that begin with ``x-`` count
    only if ``x-match`` says so.
    """
    parts = []
    for arguments in bindings:
        match = str(arguments.get("x-match", "all"))
        counts = match.endswith("-with-x")
        pairs = {
            name: value
            for name, value in arguments.items()
            if name != "x-match" and (counts or not name.startswith("x-"))
        }
        is_any = match.startswith("any")
        if not pairs and not is_any:
            return ""
        if pairs:
            both = " OR " if is_any else " AND "
            parts.append(f"({both.join(map(of_header, pairs.items()))})")
    return " OR ".join(parts) if parts else None


def of_header(pair: tuple[str, Any]) -> str:
    name, given = pair
    if not PLAIN_NAME.fullmatch(name) or name.upper() in RESERVED:
        name = '"' + name.replace('"', '""') + '"'
    return f"{name} IS NOT NULL" if given is None else f"{name} = {value(given)}"


def value(given: Any) -> str:
    if isinstance(given, bool):
        return "TRUE" if given else "FALSE"
    return str(given) if isinstance(given, int | float) else text(str(given))


def text(given: str) -> str:
    return "'" + given.replace("'", "''") + "'"


def escaped(word: str) -> str:
    """A word within the text of a LIKE."""
    for sign in (ESCAPE, "%", "_"):
        word = word.replace(sign, ESCAPE + sign)
    return word.replace("'", "''")
