"""The values of a key among the newest messages; they are suggested while a user types
a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from psycopg.sql import SQL, Composable, Literal

from broker.formats.filters import PATH, PROPERTY, Filter, Key, paths
from broker.monitoring.search.conditions import COLUMNS, SEARCHED
from broker.monitoring.search.pages import Effort, looks
from broker.monitoring.search.walking import (
    KEYS,
    PATIENCE,
    SHOWN,
    Columns,
    Walk,
    patiently,
)

NEWEST = 2000  # number of messages whose values are counted
EFFORT = Effort(looks=3)
LONGEST = 200  # most characters of a suggested value
VALUES = SQL(
    "unnest(CASE WHEN octet_length(message.body) <= {} THEN"
    " broker_json_values(message.body, {}::text[]) END) AS value"
)
# The members of objects; what follows a name says what its value is.
MEMBERS = SQL("""ARRAY(
    SELECT left(member.key, {longest}) || CASE jsonb_typeof(member.value)
        WHEN 'object' THEN '.'
        WHEN 'array' THEN CASE jsonb_typeof(member.value -> 0)
            WHEN 'object' THEN '[].' ELSE '[]:' END
        ELSE ':' END
    FROM {values}, jsonb_each(
        CASE WHEN jsonb_typeof(value) = 'object' THEN value END) AS member)""")


def values(
    wanted: Filter,
    key: Key,
    name: str | None = None,
    *,
    within: Mapping[int, str],
    now: datetime | None = None,
) -> Counter[str]:
    """The values of a key, with their frequency, in the newest messages that match a
    filter. The effort is bounded: values of older messages may be missing.

    Args:
        wanted: the filter.
        key: a key of text, or the key of properties.
        name: name of the property; None: return the names of properties instead. For a
            path: the path; or the path to an object and a dot, to return the names of
            its members, and with each what follows it in a path.
        within: the queues to search: their names, by id.
        now: the time from which ages count; the database's clock when not given.

    Raises:
        SearchTooLong: the database took too long for one step.
    """
    with patiently(PATIENCE):
        walk = Walk(wanted, within, columns_of(key, name), now=now)
        rows = [row for some in looks(walk, NEWEST, EFFORT) for row in some]
    return Counter(
        value for row in rows for value in values_in(row) if len(value) <= LONGEST
    )


def columns_of(key: Key, name: str | None) -> Columns:
    """The column of the key, cut one character after the longest value that is
    suggested."""
    of_dead: Composable = SQL("NULL AS nothing")
    of_message: Composable = SHOWN
    column: Composable
    if key == PATH:
        column = at_path(name or "")
    elif key == PROPERTY and name is None:
        column = SQL("ARRAY(SELECT jsonb_object_keys(message.properties))")
    else:
        if key == PROPERTY:
            whole: Composable = SQL("message.properties ->> {}").format(Literal(name))
        else:
            whole = COLUMNS[key.name]
        if key.of_letters:
            of_dead, of_message = SQL("{} AS told").format(whole), SQL("")
            whole = SQL("found.told")
        column = SQL("left({}, {})").format(whole, Literal(LONGEST + 1))
    return Columns(of_dead, SQL("{}, {}").format(KEYS, column), of_message)


def at_path(name: str) -> Composable:
    """The values at a path in small bodies; or the members there, if it ends in a
    dot."""
    of_members = not name or name.endswith(".")
    steps = paths.read(name.removesuffix(".")) if name else ()
    values = VALUES.format(Literal(SEARCHED), Literal(list(steps)))
    if of_members:
        return MEMBERS.format(longest=Literal(LONGEST + 1), values=values)
    return SQL("ARRAY(SELECT left(value #>> '{{}}', {}) FROM {})").format(
        Literal(LONGEST + 1), values
    )


def values_in(row: tuple[Any, ...]) -> Iterator[str]:
    told = row[-1]
    yield from filter(None, told if isinstance(told, list) else [told])
