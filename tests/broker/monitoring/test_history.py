"""Samples: nothing is counted twice or lost, and what nobody saw is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from broker.models import HistorySample, Queue
from broker.monitoring.history import levels, packing, reading, sampling
from broker.monitoring.history.levels import LEVELS
from broker.monitoring.history.packing import FIELDS, SUMMED_FROM, Counts
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

ZEROS = [0] * len(FIELDS)
ADDED = FIELDS.index("added")
READY = FIELDS.index("ready")
numbers = st.lists(
    st.integers(0, 2**40) | st.integers(0, 300) | st.just(0),
    min_size=len(FIELDS),
    max_size=len(FIELDS),
)
blocks = st.dictionaries(st.integers(-(2**31), 2**31 - 1), numbers, max_size=5)


def counts(**fields: int) -> Counts:
    return [fields.get(name, 0) for name in FIELDS]


def counted(period_s: int) -> int:
    """The entries added that all samples of a level have, of queue 1."""
    rows = HistorySample.objects.filter(period_s=period_s).values_list(
        "counts", flat=True
    )
    return sum(packing.unpacked(bytes(one)).sum_of([1])[ADDED] for one in rows)


@pytest.fixture
def totals(monkeypatch: pytest.MonkeyPatch) -> dict[int, Counts]:
    """The totals that samplers find; a test changes them."""
    found: dict[int, Counts] = {}
    monkeypatch.setattr(
        sampling, "totals", lambda: {one: list(it) for one, it in found.items()}
    )
    return found


@given(blocks)
def test_what_is_packed_is_unpacked(block: dict[int, Counts]) -> None:
    assert packing.unpacked(packing.packed(block)).counts() == block


@given(blocks, st.sets(st.integers(0, 4)))
def test_a_sum_is_that_of_the_chosen(block: dict[int, Counts], which: set[int]) -> None:
    ids = [one for n, one in enumerate(sorted(block)) if n in which]
    chosen = [block[one] for one in ids]
    sums = [sum(column) for column in zip(*chosen, strict=True)] or ZEROS
    if chosen:
        sums[packing.OLDEST] = max(one[packing.OLDEST] for one in chosen)

    assert packing.unpacked(packing.packed(block)).sum_of(ids) == sums


@given(st.lists(numbers, min_size=2, max_size=6), st.data())
def test_in_whatever_parts_they_are_combined(
    parts: list[Counts], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(parts) - 1))
    halves = [packing.combined(parts[:cut]), packing.combined(parts[cut:])]
    assert packing.combined(halves) == packing.combined(parts)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([3, 10, 11, 60, 61, 600, 4000, 90_000]), st.integers(0, 3)
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.django_db
@hypothesis(max_examples=10)
@given(steps=STEPS)
def test_every_level_counts_each_entry_once(steps: list[tuple[int, int]]) -> None:
    """At the end of each of its periods, and over all that is kept."""
    counters = {1: counts(added=5)}
    now, known = NOON, {NOON: 0}  # entries added, by the end of each sample
    with pytest.MonkeyPatch.context() as patched, transaction.atomic():
        patched.setattr(
            sampling, "totals", lambda: {one: list(it) for one, it in counters.items()}
        )
        patched.setattr(levels, "prune", lambda at: None)
        sampling.sample(now=now)
        for wait_s, entries in steps:
            now += seconds(wait_s)
            counters[1][ADDED] += entries
            if sampling.sample(now=now):
                known[levels.last_end(now, 10)] = counters[1][ADDED] - 5
        for level in LEVELS:
            rows = HistorySample.objects.filter(period_s=level.period_s).order_by("at")
            many, done = 0, NOON
            for row in rows:
                many, done = many + unpacked(row).sum_of([1])[ADDED], row.at
                assert many == known[max(at for at in known if at <= done)]
            left = [levels.end_of(at, level.period_s) for at in known if at > done]
            assert all(end > max(known) for end in left)
        read = reading.samples(LEVELS[-1], NOON - minutes(1), now)
        whole = [packing.unpacked(bytes(one)).sum_of([1])[ADDED] for _, _, one in read]
        assert sum(whole) == known[max(known)]
        transaction.set_rollback(True)


def unpacked(row: HistorySample) -> packing.Block:
    return packing.unpacked(bytes(row.counts))


@pytest.mark.django_db
def test_old_samples_are_deleted_once_longer_ones_have_them(
    totals: dict[int, Counts],
) -> None:
    totals[1] = counts()
    sampling.sample(now=NOON)
    for n in range(1, 8):
        totals[1][ADDED] += 1
        sampling.sample(now=NOON + minutes(30) * n)

    found = list(HistorySample.objects.order_by("at").values_list("period_s", "at"))
    assert min(at for period, at in found if period == 10) == NOON + minutes(90)
    assert [period for period, _ in found].count(60) == 7
    assert (counted(10), counted(60), counted(600), counted(3600)) == (5, 7, 7, 6)


@pytest.mark.django_db
def test_an_idle_broker_is_sampled_once_a_minute(totals: dict[int, Counts]) -> None:
    totals[1] = counts(ready=3, added=3)
    stored = [sampling.sample(now=NOON + seconds(10 * n)) for n in range(13)]

    assert [n for n, one in enumerate(stored) if one] == [6, 12]


@pytest.mark.django_db
def test_where_nothing_changed_the_depth_is_known_and_nothing_came(
    totals: dict[int, Counts],
) -> None:
    totals[1] = counts(ready=3, added=3)
    sampling.sample(now=NOON)
    sampling.sample(now=NOON + minutes(1))
    sampling.sample(now=NOON + minutes(2))

    end = NOON + minutes(2)
    points = reading.read([1], NOON + minutes(1), end, now=end).points

    assert [one and (one.ready, one.added_per_s) for one in points] == [(3, 0)] * 6


@pytest.mark.django_db
def test_where_nobody_looked_nothing_is_known(totals: dict[int, Counts]) -> None:
    """After a restart, what happened meanwhile is counted, but not where it was."""
    totals[1] = counts()
    sampling.sample(now=NOON)
    totals[1][ADDED] += 10
    sampling.sample(now=NOON + seconds(10))
    totals[1][ADDED] += 600
    totals[1][READY] = 610
    sampling.sample(now=NOON + seconds(610))

    end = NOON + seconds(610)
    found = reading.read([1], NOON, end, now=end)

    known = {at: one for at, one in zip(found.ends, found.points, strict=True) if one}
    assert list(known) == [NOON + seconds(10), end]
    assert [one.added_per_s for one in known.values()] == [1, 1]


@pytest.mark.django_db
def test_the_end_of_a_long_range_comes_from_short_samples(
    totals: dict[int, Counts],
) -> None:
    totals[1] = counts()
    sampling.sample(now=NOON)
    for n in range(1, 10):
        totals[1][ADDED] += 60
        sampling.sample(now=NOON + minutes(10 * n))
    end = NOON + minutes(95)
    totals[1][ADDED] += 30
    sampling.sample(now=end)

    found = reading.read([1], end - timedelta(days=7), end, now=end)

    (first, second) = (one for one in found.points if one is not None)
    assert found.step_s == 3600
    assert (first.at, second.at) == (NOON + minutes(60), NOON + minutes(120))
    assert first.added_per_s == second.added_per_s == 0.1


@pytest.mark.parametrize(
    ("length", "step_s"),
    [
        (minutes(15), 10),
        (minutes(60), 30),
        (minutes(360), 120),
        (timedelta(days=1), 600),
        (timedelta(days=7), 3600),
        (timedelta(days=30), 14_400),
        (timedelta(days=92), 86_400),
    ],
)
def test_a_range_has_few_points(length: timedelta, step_s: int) -> None:
    level, found = reading.resolution(NOON - length, NOON, now=NOON)
    assert found == step_s
    assert found % level.period_s == 0
    assert length.total_seconds() / found <= reading.MOST


def test_a_short_range_long_ago_has_long_steps() -> None:
    begin = NOON - timedelta(days=10)
    level, step_s = reading.resolution(begin, begin + minutes(60), now=NOON)
    assert (level.period_s, step_s) == (3600, 3600)


@pytest.mark.django_db
def test_what_the_broker_did_is_in_the_sample(orders: Queue) -> None:
    dead = make_queue("DLQ", address="DLA")
    make_setting("orders", dead_letter_address="DLA", max_delivery_attempts=2)
    sampling.sample(now=NOON)
    put_many(make_messages(3), now=NOON)
    with unit_of_work() as work:
        work.get("orders")
    for _ in range(2):
        with unit_of_work() as work:
            work.get("orders")
            work.back_out("ValueError: no")
    UnitOfWork().get("orders")

    assert sampling.sample(now=NOON + seconds(30))
    end = NOON + seconds(30)
    of_orders = reading.read([orders.pk], NOON, end, now=end).points[-1]
    of_dead = reading.read([dead.pk], NOON, end, now=end).points[-1]
    of_both = reading.read([orders.pk, dead.pk], NOON, end, now=end).points[-1]

    assert of_orders is not None
    assert of_dead is not None
    assert of_both is not None
    assert (of_orders.ready, of_orders.in_flight) == (0, 1)
    assert (of_orders.added_per_s, of_orders.removed_per_s) == (0.1, 0.07)
    assert (of_orders.backed_out, of_orders.dead_lettered) == (1, 1)
    assert (of_dead.ready, of_dead.added_per_s) == (1, 0.03)
    assert (of_both.ready, of_both.in_flight) == (1, 1)


@pytest.mark.django_db
def test_depths_change_by_what_came_and_went(orders: Queue) -> None:
    put_many(make_messages(5))
    with unit_of_work() as work:
        work.get("orders", 2)
    (found,) = sampling.totals().values()

    ready, in_flight, delayed = found[:3]
    assert ready + in_flight + delayed == found[ADDED] - found[ADDED + 1] == 3


@pytest.mark.django_db
def test_the_age_of_the_oldest_is_sampled(orders: Queue) -> None:
    sampling.sample(now=NOON)
    put("orders", now=NOON)

    end = NOON + seconds(40)
    sampling.sample(now=end)

    point = reading.read([orders.pk], NOON, end, now=end).points[-1]
    assert point is not None
    assert point.oldest_s == 40


@pytest.mark.parametrize(
    ("times", "median", "most"),
    [
        ({}, None, None),
        ({0: 1}, 0.5, 0.9),
        ({7: 100}, 96, 124.8),  # from 64 to 128 ms
        ({4: 90, 11: 10}, 12.4, 1536),
    ],
)
def test_percentiles_are_read_from_buckets(
    times: Mapping[int, int], median: float | None, most: float | None
) -> None:
    buckets = [times.get(n, 0) for n in range(len(packing.TIMES))]
    assert reading.percentile(buckets, 0.5) == median
    found = reading.percentile(buckets, 0.95)
    assert found == (most if most is None else pytest.approx(most, abs=0.1))


def test_fields_combine_as_they_are_declared() -> None:
    one, other = list(range(len(FIELDS))), [7] * len(FIELDS)
    combined = packing.combined([one, other])
    assert combined[:SUMMED_FROM] == [7, 7, 7, 7]
    assert combined[SUMMED_FROM:] == [n + 7 for n in range(SUMMED_FROM, len(FIELDS))]
