"""The messages of a window are read by ranges of ids, and no others are archived."""

from __future__ import annotations

import re
from itertools import pairwise

import pyarrow as pa
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from broker.queueing.put import NewMessage, put_many
from dashboards.pipeline.fields import message_fields
from dashboards.pipeline.fields.event_fields import PUT
from dashboards.pipeline.fields.rows import NO_TIMEOUT
from tests.make import NOON, make_queue

ID = st.integers(1, 1000)


@pytest.mark.parametrize("gap", [0, message_fields.GAP])
@pytest.mark.parametrize("gone", [[3], [0, 3, 4]])
def test_messages_of_other_windows_are_left_out(
    committed: None, gap: int, gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_fields, "GAP", gap)
    make_queue("orders")
    sent = put_many([NewMessage("orders", subject=str(n)) for n in range(5)], now=NOON)
    ids = [receipt.message_id for receipt in sent]
    wanted = [0, 3, 4]
    puts = pa.table([[ids[n] for n in wanted], [NOON] * 3], schema=PUT)
    deleted = ", ".join(str(ids[n]) for n in gone)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM broker_message WHERE id IN ({deleted})")

    batches = message_fields.messages(puts, NO_TIMEOUT)

    rows = [row for batch in batches for row in batch.to_pylist()]
    assert sorted((row["message_id"], row["subject"]) for row in rows) == [
        (ids[n], None if n in gone else str(n)) for n in wanted
    ]
    assert {row["at"] for row in rows} == {NOON}


@given(st.sets(st.integers(1, 2000), min_size=1), st.integers(0, 20))
def test_ranges_have_every_id_and_leave_the_widest_gaps_out(
    some: set[int], most: int
) -> None:
    ids = sorted(some)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(message_fields, "MOST_GAPS", most)
        said = message_fields.ranges(pa.array(ids))

    ends = [tuple(map(int, one.split(","))) for one in re.findall(r"\[(.+?)\]", said)]
    inside = [[one for one in ids if first <= one <= last] for first, last in ends]
    assert [one for part in inside for one in part] == ids
    assert [(part[0], part[-1]) for part in inside] == ends
    gaps = [after - one for one, after in pairwise(ids)]
    wide = sorted((gap for gap in gaps if gap > message_fields.GAP), reverse=True)
    between = [after[0] - one[1] for one, after in pairwise(ends)]
    assert sorted(between, reverse=True) == wide[:most]


@given(st.sets(ID), st.lists(ID, min_size=1))
def test_the_place_of_an_id_is_found_among_all(own: set[int], batch: list[int]) -> None:
    ids = sorted(own)

    places = message_fields.places_of(pa.array(batch), pa.array(ids, pa.int64()))

    expected = [ids.index(one) if one in ids else None for one in batch]
    assert places.to_pylist() == expected
