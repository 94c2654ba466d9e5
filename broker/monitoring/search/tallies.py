"""The values of a key among the newest messages; they are suggested while a user types
a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from psycopg.sql import SQL, Composable, Literal

from broker.formats.filters import PROPERTY, Filter, Key
from broker.monitoring.search.conditions import COLUMNS
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
        name: name of the property; None: return the names of properties instead.
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
    if key == PROPERTY and name is None:
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


def values_in(row: tuple[Any, ...]) -> Iterator[str]:
    told = row[-1]
    yield from told if isinstance(told, list) else filter(None, [told])
