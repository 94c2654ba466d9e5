"""What sets failures apart, held to the same rule in plain Python."""

from __future__ import annotations

import random
from math import comb, exp, floor, log
from typing import TYPE_CHECKING, Any

import pytest

from broker.formats.error_fingerprint import fingerprint
from broker.formats.filters import parse
from dashboards.reports import differences
from dashboards.reports.errors import QualityBroken
from dashboards.reports.field_significance import CUT
from tests.dashboards.reports.silver_rows import built, death, frames, stay
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

ERROR = "no such customer 17"
KEY = fingerprint(ERROR).key
HOSTILE = "h.x\" *,..-é'<script>\u202e\\ \n"
Row = dict[str, Any]


def fields(message_id: int, **said: Any) -> Row:
    """Of a message: its properties, but for what a message itself has."""
    of_message: Row = {
        "message_id": message_id, "at": NOON, "priority": 4, "durable": True,
        "content_type": "text/plain", "producer": "shop", "size": 10,
    }  # fmt: skip
    own = {name: said.pop(name) for name in set(said) & {*of_message, "subject"}}
    numbers = {
        name: float(one) for name, one in said.items() if isinstance(one, int | float)
    }
    texts = {name: str(one) for name, one in said.items()}
    return of_message | own | {"properties": texts, "numbers": numbers}


def dead(message_id: int, error: str = ERROR, **more: Any) -> Row:
    key = fingerprint(error).key
    return death(message_id, error=error, fingerprint=key, **more)


def found(
    spark: SparkSession, died: list[Row], went_well: list[Row], least: int = 5
) -> list[Row]:
    """Of messages by their fields: those that died on orders, and were accepted."""
    lifelines = [dead(row["message_id"]) for row in died]
    lifelines += [stay(row["message_id"]) for row in went_well]
    inputs = frames(spark, lifelines=lifelines, messages=[*died, *went_well])
    rows: list[Row] = built("differences", inputs, least=least).toArrow().to_pylist()
    return rows


def told(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["field"], row["how"], row["value"]) for row in rows]


def bound(a: int, f: int, b: int, s: int) -> float:
    """The logarithm of what the tail is at most."""

    def draw(part: int, whole: int, marked: int, every: int) -> float:
        rest = whole - part
        hit = part * log(part * every / (whole * marked)) if part else 0
        miss = rest * log(rest * every / (whole * (every - marked))) if rest else 0
        return hit + miss

    n = f + s
    return -max(
        draw(a, f, a + b, n),
        draw(b, s, a + b, n),
        draw(a, a + b, f, n),
        draw(f - a, n - a - b, f, n) if n > a + b else 0,
    )


@pytest.mark.spark
def test_a_tenant_that_fails_is_told_with_its_numbers(spark: SparkSession) -> None:
    died = [fields(n, tenant="t7" if n < 9 else "t1") for n in range(10)]
    well = [fields(n, tenant=f"t{n % 20}") for n in range(10, 110)]
    gone = [fields(n, priority=None) for n in (200, 201)]

    rows = found(spark, [*died, *gone], [*well, fields(300, priority=None)])

    asked = 110 * 6  # a property, four texts and a size of each
    assert rows == [
        {
            "cluster": KEY,
            "queue": "orders",
            "label": "no such customer …",
            "field": "h.tenant",
            "how": "is",
            "value": "t7",
            "failed": 9,
            "failed_all": 10,
            "failed_share": 0.9,
            "succeeded": 5,
            "succeeded_all": 100,
            "succeeded_share": 0.05,
            "lift": pytest.approx(18),
            "odds": floor(exp(-bound(9, 10, 5, 100)) / asked),
            "unknown": 2,
        }
    ]
    assert rows[0]["odds"] > 100
    wrong = [rows[0] | {"succeeded_all": 99}]
    lifelines = [stay(row["message_id"]) for row in well]
    inputs = frames(spark, lifelines=lifelines, messages=well)
    with pytest.raises(QualityBroken, match="every accepted message is counted once"):
        differences.check(inputs, wrong)


@pytest.mark.spark
def test_each_kind_of_difference_is_told(spark: SparkSession) -> None:
    died = [
        fields(n, size=1000 + n, vip=True, subject="retry", late=-1.5)
        for n in range(40)
    ]
    well = [fields(n, size=n, traced="yes", late=n) for n in range(100, 400)]

    rows = found(spark, died, well)

    assert set(told(rows)) == {
        ("h.late", "is", "-1.5"),
        ("h.traced", "is not there", ""),
        ("h.vip", "is", "True"),
        ("size", "between", "355..1039"),
        ("type", "is", "retry"),
    }
    assert [row["lift"] for row in rows if row["field"] == "h.vip"] == [None]
    links = {differences.alike(row) for row in rows}
    assert links == {
        'origin:orders h.late:"-1.5"',
        "origin:orders -h.traced:*",
        "origin:orders h.vip:True",
        "origin:orders size:355..1039",
        "origin:orders type:retry",
    }


@pytest.mark.spark
def test_without_fields_or_anything_to_compare_with_nothing_is_made_up(
    spark: SparkSession,
) -> None:
    died = [fields(n, tenant="t7") for n in range(20)]
    assert found(spark, died, []) == []
    assert found(spark, died, [fields(n, tenant="t7") for n in range(20, 90)]) == []
    few = found(spark, died, [fields(30)], least=21)
    assert few == []

    (gap,) = found(spark, [row | {"priority": None} for row in died], [fields(30)])

    assert (gap["field"], gap["failed"], gap["failed_all"], gap["unknown"]) == (
        None, None, 0, 20,
    )  # fmt: skip
    assert not differences.tells(gap)


@pytest.mark.spark
def test_hostile_names_and_values_are_told_as_they_are(spark: SparkSession) -> None:
    long = "x" * 99 + CUT
    died = [fields(n, **{HOSTILE: HOSTILE, "long": long}) for n in range(20)]
    well = [fields(n, **{HOSTILE: "fine", "id": str(n)}) for n in range(20, 320)]

    rows = found(spark, died, well)

    assert set(told(rows)) >= {
        (f"h.{HOSTILE}", "is", HOSTILE), ("h.long", "is", long),
    }  # fmt: skip
    for row in rows:
        origin, term = parse(differences.alike(row)).terms
        assert str(origin) == "origin:orders"
        assert f"h.{term.name}" == row["field"]
        if row["value"] == HOSTILE:
            assert (
                term.alternatives[0]
                == parse(f"h.x:{quoted(HOSTILE)}").terms[0].alternatives[0]
            )


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@pytest.mark.spark
def test_chance_does_not_show(spark: SparkSession) -> None:
    """Twenty fields of two to forty values that have nothing to do with dying."""
    draw = random.Random(7)

    def some(n: int) -> Row:
        texts = {f"p{k}": f"v{draw.randrange(2 * k)}" for k in range(1, 21)}
        return fields(n, **texts, x=draw.random(), size=draw.randrange(10**6))

    died = [some(n) for n in range(150)]
    assert found(spark, died, [some(n) for n in range(150, 1150)]) == []


@pytest.mark.parametrize(
    ("failed", "succeeded"), [(5, 40), (12, 12), (60, 9), (1, 300), (30, 30)]
)
def test_the_bound_is_no_less_than_the_tail(failed: int, succeeded: int) -> None:
    """Against Fisher's exact test, of every table with these sums."""
    every = failed + succeeded
    for marked in range(1, every + 1):
        ways = comb(every, failed)
        tail = 0.0
        for a in range(min(marked, failed), max(0, marked - succeeded) - 1, -1):
            tail += comb(marked, a) * comb(every - marked, failed - a) / ways
            if a * succeeded > (marked - a) * failed:
                limit = exp(bound(a, failed, marked - a, succeeded))
                assert tail <= limit * (1 + 1e-9)


@pytest.mark.parametrize(
    ("row", "filter"),
    [
        (("h.a b", "is", "x y"), 'h."a b":"x y"'),
        (("h.n", "between", "-5..-1.5"), "h.n:-5..-1.5"),
        (("h.n", "between", "1.0E20..2E20"), ""),
        (("h.n", "is there", ""), "h.n:*"),
        (("h.long", "is", "abc" + CUT), "h.long:abc*"),
        (("priority", "is", "9"), "priority:9"),
        (("priority", "between", "3..4"), "priority:3..4"),
        (("size", "between", "10..20"), "size:10..20"),
        (("type", "is", "a*"), 'type:"a*"'),
        (("group", "is not there", ""), "-group:*"),
        (("durable", "is", "true"), ""),
        (("reply-to", "is", "x"), ""),
    ],
)
def test_a_row_leads_to_what_it_counts(row: tuple[str, ...], filter: str) -> None:  # noqa: A002
    field, how, value = row
    cells = {"queue": "a b", "field": field, "how": how, "value": value}
    wanted = differences.alike(cells)
    assert wanted == (f'origin:"a b" {filter}' if filter else "")
    assert str(parse(wanted)) == wanted
