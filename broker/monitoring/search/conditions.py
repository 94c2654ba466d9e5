"""A filter as an SQL condition on one entry.

The text of the condition consists only of parts written in this module. All text from
the user is passed as parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from psycopg.sql import SQL, Composable, Placeholder

from broker.formats.filters import (
    COPY,
    PATH,
    PROPERTY,
    WORD,
    Filter,
    KeyKind,
    Term,
    paths,
)
from broker.formats.filters.values import (
    Alternative,
    Between,
    Compared,
    Is,
    Moment,
    Text,
    Value,
)
from broker.monitoring.numbers import copies_of
from broker.monitoring.search import bodies

SEARCHED = 64 * 2**10  # bytes of a body that are searched
PARSED = 2**20  # bytes of the largest body that is parsed
COLUMNS: dict[str, SQL] = {
    "address": SQL("message.address"),
    "id": SQL("coalesce(message.first_id, seen.id)"),
    COPY.name: SQL("seen.id"),
    "message-id": SQL("message.message_id"),
    "correlation": SQL("message.correlation_id"),
    "type": SQL("message.subject"),
    "group": SQL("message.group_id"),
    "content": SQL("message.content_type"),
    "producer": SQL("message.producer"),
    "priority": SQL("entry.priority"),
    "tries": SQL("coalesce(dead.backout_count, entry.backout_count)"),
    "size": SQL("octet_length(message.body)"),
    "at": SQL("message.put_at"),
    "age": SQL("message.put_at"),
    "due": SQL("CASE WHEN seen.place = 3 THEN seen.until END"),
    "expires": SQL("entry.expires_at"),
    "died": SQL("dead.died_at"),
    "cause": SQL("dead.cause"),
    "error": SQL("dead.error"),
    "fingerprint": SQL("dead.fingerprint"),
    "origin": SQL("dead.origin_queue"),
    "resubmits": SQL("dead.resubmit_count"),
}
ELSEWHERE = (
    "state",
    "queue",
)  # these keys say where to search; see ``broker.monitoring.search.scopes``
OF_MESSAGES = {
    name for name, column in COLUMNS.items() if "message." in column.as_string()
} | {PROPERTY.name, WORD.name, "body", PATH.name}
# Of these, the keys for which no entry is needed.
ONLY_OF_MESSAGES = OF_MESSAGES - {"id", WORD.name}
TYPES: dict[type, SQL] = {
    int: SQL("bigint"),
    str: SQL("text"),
    bytes: SQL("bytea"),
    datetime: SQL("timestamptz"),
    Decimal: SQL("numeric"),
}
OPERATORS = {sign: SQL(sign) for sign in ("<", "<=", ">", ">=")}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def reads_messages(wanted: Filter) -> bool:
    """Whether the filter needs the row of the message, not only the entry."""
    return any(term.key.name in OF_MESSAGES for term in wanted.terms)


def reads_bodies(wanted: Filter) -> bool:
    return any(term.key.name in ("body", PATH.name) for term in wanted.terms)


def with_copies(wanted: Filter) -> Filter:
    """The filter that finds a message by any id that it ever had."""
    terms = [term for term in wanted.terms if term.key.name == "id"]
    given = {one: number for term in terms for one, number in numbers_in(term)}
    copies = copies_of(given.values())
    found = {one: copies[number] for one, number in given.items()}
    return Filter(tuple(found_by(term, found) for term in wanted.terms))


def numbers_in(term: Term) -> Iterator[tuple[Alternative, int]]:
    for one in term.alternatives:
        if isinstance(one, Is) and isinstance(one.value, int):
            yield one, one.value


def found_by(term: Term, copies: Mapping[Alternative, set[int]]) -> Term:
    """A term on a message's number, as a term on the ids of its copies if it has no
    range. A range compares the number, which is the lowest of the ids."""
    if term.key.name != "id":
        return term
    if all(one in copies for one in term.alternatives):
        ids = sorted(set().union(*(copies[one] for one in term.alternatives)))
        return replace(term, key=COPY, alternatives=tuple(map(Is, ids)))
    numbers = (
        Is(min(copies[one])) if one in copies else one for one in term.alternatives
    )
    return replace(term, alternatives=tuple(numbers))


class Condition:
    """All terms of a filter as SQL text, with its parameters in ``values``.

    ``of_message`` has the terms for which the message suffices, if one of them is not
    met by a message that is not there.
    """

    def __init__(self, wanted: Filter, now: datetime) -> None:
        self.now = now
        self.values: dict[str, Any] = {}
        found = {
            term: self.of_term(term)
            for term in wanted.terms
            if term.key.name not in ELSEWHERE
        }
        self.text: Composable = (
            SQL(" AND ").join(found.values()) if found else SQL("true")
        )
        only = [term for term in found if term.key.name in ONLY_OF_MESSAGES]
        self.of_message: Composable | None = None
        if not all(term.is_negated for term in only):
            self.of_message = SQL(" AND ").join(found[term] for term in only)

    def apart(self, value: str | bytes | int | Decimal | datetime) -> Composable:
        """Add a value to the statement's parameters; return its placeholder."""
        name = f"value_{len(self.values)}"
        self.values[name] = value
        return SQL("{}::{}").format(Placeholder(name), TYPES[type(value)])

    def of_term(self, term: Term) -> Composable:
        if term.key == PATH:
            any_of = self.at_path(paths.read(term.name), term.alternatives)
        else:
            any_of = SQL(" OR ").join(self.of(term, one) for one in term.alternatives)
        text = "NOT coalesce({}, false)" if term.is_negated else "({})"
        return SQL(text).format(any_of)

    def of(self, term: Term, one: Alternative) -> Composable:
        match term.key.kind:
            case KeyKind.PROPERTY:
                return self.of_property(term.name, one)
            case KeyKind.WORDS:
                return self.of_words(term.key.name, text_of(one))
        column = COLUMNS[term.key.name]
        match term.key.kind:
            case KeyKind.TEXT:
                return self.alike(column, text_of(one))
            case KeyKind.CHOICE:
                code = text_of(one).parts[0].upper().replace("-", "_")
                return SQL("{} = {}").format(column, self.apart(code))
        return self.measured(column, one)

    def alike(self, column: Composable, text: Text) -> Composable:
        """A comparison with a whole text, which may have wildcards."""
        if text.is_exact:
            return SQL("{} = {}").format(column, self.apart(text.parts[0]))
        return SQL("{} LIKE {}").format(column, self.apart(pattern(text)))

    def of_words(self, key: str, text: Text) -> Composable:
        within = f"%{pattern(text)}%"
        if key == "body":
            return self.in_body(text)
        if key == "error":
            return SQL("dead.error ILIKE {}").format(self.apart(within))
        return SQL(
            "dead.error ILIKE {0} OR message.subject ILIKE {0} OR {1} OR {2}"
        ).format(
            self.apart(within),
            self.alike(COLUMNS["message-id"], text),
            self.alike(COLUMNS["correlation"], text),
        )

    def in_body(self, text: Text) -> Composable:
        """A text in a body, in the body's own character set. Nearly all bodies are
        UTF-8; of the others, PostgreSQL looks for the name of the set once."""
        size = self.apart(SEARCHED)
        searched = SQL("substring(message.body FOR {}::integer)").format(size)
        usual = self.apart(bodies.pattern(text, bodies.BASIS) or b"")
        others = [
            SQL("((own.key = ANY({}) OR own.has_headers) AND own.body LIKE {})").format(
                self.texts_apart(keys), self.apart(one)
            )
            for one, keys in bodies.patterns(text).items()
        ]
        return SQL(
            "({searched} LIKE {usual} OR {names_one} AND EXISTS (SELECT FROM (SELECT"
            " {key} AS key, {has_headers} AS has_headers, {searched} AS body OFFSET 0)"
            " AS own WHERE {others}))"
        ).format(
            searched=searched,
            usual=usual,
            names_one=bodies.NAMES_ONE,
            key=bodies.KEY,
            has_headers=bodies.HAS_HEADERS,
            others=SQL(" OR ").join(others) if others else SQL("false"),
        )

    def texts_apart(self, texts: Sequence[str | None]) -> Composable:
        name = f"value_{len(self.values)}"
        self.values[name] = list(texts)
        return SQL("{}::text[]").format(Placeholder(name))

    def of_property(self, name: str, one: Alternative) -> Composable:
        value = SQL("(message.properties -> {})").format(self.apart(name))
        return self.of_json(value, one)

    def of_json(self, value: Composable, one: Alternative) -> Composable:
        """A comparison with a JSON value."""
        if not isinstance(one, Is):
            return SQL("CASE WHEN jsonb_typeof({0}) = 'number' THEN {1} END").format(
                value, self.measured(SQL("{}::numeric").format(value), one)
            )
        text = text_of(one)
        if not text.is_exact:
            return self.alike(SQL("({} #>> '{{}}')").format(value), text)
        return SQL("{} IN ({})").format(
            value,
            SQL(", ").join(
                SQL("{}::jsonb").format(self.apart(document))
                for document in documents(text.parts[0])
            ),
        )

    def at_path(
        self, steps: paths.Steps, alternatives: Sequence[Alternative]
    ) -> Composable:
        """A comparison with the values at a path in a body. Only bodies that may have
        such a value are parsed."""
        path = self.texts_apart(steps)
        values = SQL("(SELECT broker_json_value(message.body, {}) AS value OFFSET 0)")
        if None in steps:
            values = SQL("unnest(broker_json_values(message.body, {}))")
        any_of = SQL(" OR ").join(
            self.of_json(SQL("at.value"), one) for one in alternatives
        )
        return SQL(
            "CASE WHEN octet_length(message.body) <= {most} AND {likely} THEN"
            " EXISTS (SELECT FROM {values} AS at (value) WHERE {any_of}) END"
        ).format(
            most=SQL(str(PARSED)),
            likely=self.likely(bodies.in_json(steps, alternatives)),
            values=values.format(path),
            any_of=any_of,
        )

    def likely(self, patterns: Sequence[Sequence[bytes]]) -> Composable:
        """Whether a body may have a value: it has one pattern of each group, or writes
        some characters in another way."""
        groups = [
            SQL(" OR ").join(
                SQL("message.body LIKE {}").format(self.apart(one)) for one in group
            )
            for group in patterns
        ]
        if not groups:
            return SQL("true")
        return SQL("(({}) OR position('\\x5c'::bytea IN message.body) > 0)").format(
            SQL(") AND (").join(groups)
        )

    def measured(self, column: Composable, one: Alternative) -> Composable:
        """A comparison with a number, a time or a duration."""
        match one:
            case Is(Moment() as moment):
                return self.measured(column, Between(moment, moment))
            case Is(value):
                return self.side(column, "=", value)
            case Compared(operator, value):
                return self.side(column, operator, value)
        low = self.side(column, ">=", one.low)
        return SQL("({} AND {})").format(low, self.side(column, "<=", one.high))

    def side(self, column: Composable, operator: str, value: Value) -> Composable:
        match value:
            case Moment():
                is_end = operator in (">", "<=")
                operator = ">=" if operator.startswith(">") else "<"
                at: Any = value.end if is_end else value.start
            case timedelta():  # a longer duration is an earlier time
                operator, at = TURNED[operator], self.now - value
            case _:
                at = value
        sign = OPERATORS.get(operator, SQL("="))
        return SQL("{} {} {}").format(column, sign, self.apart(at))


def text_of(one: Alternative) -> Text:
    assert isinstance(one, Is)
    assert isinstance(one.value, Text)
    return one.value


def pattern(text: Text) -> str:
    """A pattern for LIKE; characters with a special meaning are escaped."""
    return "%".join(re.sub(r"([\\%_])", r"\\\1", part) for part in text.parts)


def documents(text: str) -> list[str]:
    """The JSON values that a text stands for: itself and, if possible, a number or
    boolean."""
    found = [json.dumps(text)]
    if bodies.is_literal(text):
        found.append(text)
    return found
