"""Routing keys and header bindings of AMQP 0-9-1 as selectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ESCAPE = "\\"


def of_keys(keys: Sequence[str], *, is_topic: bool, notes: list[str]) -> str:
    """A selector for the messages with one of these keys as their subject; empty: all.

    Args:
        keys: routing keys of a direct exchange, or patterns of a topic exchange.
        is_topic: whether ``*`` and ``#`` stand for words.
        notes: gets a sentence for a pattern that no selector can say exactly.
    """
    wild = [key for key in keys if is_topic and {"*", "#"} & set(key.split("."))]
    if "#" in wild:
        return ""
    plain = [key for key in dict.fromkeys(keys) if key not in wild]
    parts = [like(key, notes) for key in dict.fromkeys(wild)]
    if len(plain) == 1:
        parts.insert(0, f"JMSType = {text(plain[0])}")
    elif plain:
        parts.insert(0, f"JMSType IN ({', '.join(map(text, plain))})")
    return " OR ".join(parts)


def like(pattern: str, notes: list[str]) -> str:
    """A condition for one topic pattern with wildcards."""
    words = pattern.split(".")
    if words[-1] == "#" and not {"*", "#"} & set(words[:-1]):
        stem = ".".join(words[:-1])
        return f"(JMSType = {text(stem)} OR JMSType LIKE {quoted(stem)}.%' ESCAPE '\\')"
    if "#" in words:
        notes.append(
            f"The routing pattern {pattern} is only nearly the same as its selector:"
            " a # within a pattern also stands for parts of words there."
        )
    likes = ".".join("%" if word in ("*", "#") else escaped(word) for word in words)
    condition = f"JMSType LIKE '{likes}' ESCAPE '\\'"
    if "#" in words:
        return condition
    more = ".".join("%" for _ in [*words, ""])  # what has more words than the pattern
    return f"({condition} AND JMSType NOT LIKE '{more}')"


def of_headers(bindings: Sequence[Mapping[str, Any]]) -> str:
    """A selector for the messages that one of the bindings of a headers exchange takes;
    empty: all."""
    parts = []
    for arguments in bindings:
        both = (
            " OR "
            if str(arguments.get("x-match", "all")).startswith("any")
            else " AND "
        )
        pairs = {k: v for k, v in arguments.items() if not k.startswith("x-")}
        if not pairs:
            return ""
        parts.append(
            "(" + both.join(f"{k} = {value(v)}" for k, v in pairs.items()) + ")"
        )
    return " OR ".join(parts)


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


def quoted(stem: str) -> str:
    """The beginning of the text of a LIKE."""
    return "'" + escaped(stem)
