"""Waits between tries, while the database is away."""

from __future__ import annotations

from broker.sql.waits import FIRST_S, Waits


def test_the_first_try_is_at_once_and_then_waits_grow() -> None:
    waits = Waits(1.0)
    now_s, found = 0.0, []
    for _ in range(12):
        found.append(waits.next_s(now_s))
        now_s += found[-1]
    assert found[0] == 0
    for number, wait_s in enumerate(found[1:]):
        longest_s = min(1.0, FIRST_S * 2.0**number)
        assert longest_s / 2 <= wait_s <= longest_s


def test_they_begin_anew_after_a_time_without_failures() -> None:
    waits = Waits(1.0)
    assert waits.next_s(0.0) == 0
    assert waits.next_s(1.9) > 0
    assert waits.next_s(4.0) == 0


def test_they_never_grow_above_the_longest() -> None:
    waits = Waits(5.0)
    assert max(waits.next_s(n * 5.0) for n in range(2000)) <= 5.0
