"""Values at paths in bodies: no body ends a search, and few of them are parsed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL

from broker import sql
from broker.errors.messages import SearchTooLong
from broker.formats.filters import PATH, Filter, Term, parse, paths
from broker.formats.filters.values import Is, Text
from broker.models import Queue
from broker.monitoring import search
from broker.monitoring.search import bodies, walking
from broker.monitoring.search.conditions import Condition
from broker.queueing.put import put
from tests.broker.found import NOW, has_property, values_at
from tests.make import make_queue

pytestmark = pytest.mark.django_db

BAD = [
    b"",
    b"{",
    b'{"id": 7',
    b'{"id": 7} {"id": 7}',
    b'{"id": 7, "x": "\xff"}',
    b'{"id": 7, "x": "\\u0000"}',
    b'{"id": 7, "x": "\\ud800"}',
    b'{"id": 7, "x": 1e999999}',
    b'{"id": 7, "x": 01}',
    b'{"id": ' + b"[" * 100_000,
    b'{"id": 7, "x": "' + b"x" * 2**20 + b'"}',
    '{"id": 7}'.encode("utf-16"),
    b"\x1f\x8b id",
]
NAMES = st.sampled_from(
    ["a", "id", "ä", 'q"', "b\\", "0", "1", "", "[]", "a.b", "\x07"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 7.25, 1e3, "0.5", "true", "a", "ä", 'x"y', "a%b", "\\", ""])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
    ),
    max_leaves=6,
)


def found(text: str) -> list[int]:
    within = dict(Queue.objects.values_list("pk", "name"))
    return [one.message_id for one in search.find(parse(text), within=within).rows]


def test_no_body_ends_a_search() -> None:
    make_queue("orders")
    bad = [put("orders", body).message_id for body in BAD]
    good = put("orders", b'{"id": 7}').message_id

    assert found("body.id:7") == [good]
    assert found("body.id:>6") == [good]
    assert found("-body.id:7") == bad[::-1]


def test_a_statement_that_is_cancelled_is_no_bad_body() -> None:
    with (
        pytest.raises(SearchTooLong),
        walking.patiently(timedelta(milliseconds=50)),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT broker_json_values('{\"a\": 1}', '{a}')"
            " FROM generate_series(1, 100000000)"
        )


def test_only_bodies_that_may_have_the_value_are_parsed() -> None:
    path = paths.read("customer.id.0")

    def patterns(*texts: str) -> list[list[bytes]]:
        return bodies.in_json(path, [Is(Text((one,))) for one in texts])

    assert patterns("a%b") == [[b'%"id"%'], [b'%"a\\%b"%']]
    assert patterns("x", "true") == [[b'%"id"%'], [b'%"x"%', b"%true%"]]
    assert patterns("x", "7") == [[b'%"id"%']], "7 may be written 0.7e1"
    assert bodies.in_json(path, [Is(Text(("x", "")))]) == [[b'%"id"%']]
    seven = Is(Text(("7",)))
    assert bodies.in_json(paths.read("[].0"), [seven]) == [], "there is no name"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_found_is_what_a_look_at_the_body_finds(data: st.DataObject) -> None:
    value = data.draw(VALUES)
    body = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode()
    steps = data.draw(st.lists(NAMES | st.none(), min_size=1, max_size=3).map(tuple))
    texts = data.draw(
        st.lists(LEAVES.map(as_text), min_size=1, max_size=2, unique=True)
    )
    asked = Term(PATH, tuple(Is(Text((one,))) for one in texts), paths.write(steps))
    expected = any(
        has_property(one, alternative)
        for one in values_at(body, steps)
        for alternative in asked.alternatives
    )

    assert is_met(asked, body) == expected


def is_met(asked: Term, body: bytes) -> bool:
    condition = Condition(Filter((asked,)), NOW)
    statement = SQL(
        "SELECT {} FROM (SELECT %(body)s::bytea AS body) AS message"
    ).format(condition.text)
    ((met,),) = sql.ask(statement, {**condition.values, "body": body})
    return bool(met)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
