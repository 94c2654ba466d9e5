"""Which errors are alike, held to the same rule in plain Python."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from broker.formats.error_fingerprint import fingerprint
from dashboards.reports import causes
from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import (
    DAY,
    built,
    death,
    frames,
    require,
    stay,
)
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day

TIMEOUT = "the connection to the data base timed out after 30 s"
LONGER = "the connection to the data base timed out again after 31 s"
OTHER = "no such customer 'Ann'"
WORDS = [
    "row", "table", "lock", "bank", "order", "price", "late", "early", "never", "lost",
    "found", "east", "west",
]  # fmt: skip


def dead(message_id: int, error: str | None, **fields: object) -> dict[str, object]:
    key = fingerprint(error).key if error is not None else None
    return death(message_id, error=error, fingerprint=key, **fields)


def test_errors_that_differ_in_a_word_are_one_cause(spark: SparkSession) -> None:
    later = NOON + DAY
    inputs = frames(
        spark,
        lifelines=[
            dead(1, TIMEOUT),
            dead(2, TIMEOUT, ended_at=later),
            dead(0, TIMEOUT, ended_at=later),
            dead(3, LONGER, ended_at=later, cause="EXPIRED"),
            dead(4, LONGER, ended_at=later, queue="bills"),
            dead(5, OTHER, ended_at=NOON),
            dead(6, None, ended_at=NOON, cause=None),
            stay(7),
        ],
    )

    found = built("causes", inputs, days=2, as_of=later)

    first, second, other = (fingerprint(one).key for one in (TIMEOUT, LONGER, OTHER))
    timed_out = "the connection to the data base timed out again after … s"
    soon = NOON + (later - NOON) / 1440
    expected = [
        (first, "orders", timed_out, LONGER, first, 2, "EXPIRED, REJECTED", 2, 4,
         soon, later, 1, 3, 2),
        (first, "bills", timed_out, LONGER, second, 1, "REJECTED", 2, 1, later, later,
         0, 1, 1),
        (other, "orders", "no such customer …", OTHER, other, 1, "REJECTED", 1, 1, NOON,
         NOON, 1, 0, -1),
        ("", "orders", "", "", "", 1, "UNKNOWN", 1, 1, NOON, NOON, 1, 0, -1),
    ]  # fmt: skip
    require("causes", found, expected)
    with pytest.raises(QualityBroken, match="every dead letter is counted once"):
        causes.check(inputs, [])


def clusters(errors: list[str]) -> dict[str, str]:
    """The first fingerprint of each one's cluster, by comparing all with all."""
    words = {fingerprint(one).key: set(re.findall("[a-z]+", one)) for one in errors}
    counted = Counter(fingerprint(one).key for one in errors)
    firsts: list[str] = []
    found = {}
    for key in sorted(words, key=lambda key: (-counted[key], key)):
        alike = [
            one
            for one in firsts
            if 10 * len(words[one] & words[key]) >= 7 * len(words[one] | words[key])
        ]
        found[key] = (alike or [key])[0]
        firsts += [] if alike else [key]
    return found


def test_no_pair_that_is_alike_is_missed(spark: SparkSession) -> None:
    draw = random.Random(7)
    errors = [" ".join(draw.sample(WORDS, draw.randint(3, 9))) for _ in range(150)]
    errors += draw.choices(errors, k=100)
    rows = [dead(n, error, queue=error[:40]) for n, error in enumerate(errors)]
    # One queue for each error, so that each row says where its fingerprint went.
    rows = [row | {"queue": str(row["fingerprint"])} for row in rows]

    found = built("causes", frames(spark, lifelines=rows)).toArrow().to_pylist()

    expected = clusters(errors)
    assert {row["queue"]: row["cluster"] for row in found} == expected
    assert 2 < len(set(expected.values())) < len(expected)
