"""How busy a consumer is: the share of the last minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.monitoring.busy_time import STEP_S, WINDOW_S, BusyTime


def test_it_is_the_share_of_the_time_of_all_sessions() -> None:
    busy = BusyTime(2, 0)
    assert busy.percent(9) is None, "too short to say"

    busy.change(1, 10)
    busy.change(1, 20)
    busy.change(-2, 30)

    assert busy.percent(40) == 38  # 30 of 80 seconds
    assert busy.percent(49) == 38  # told anew every ten seconds
    assert busy.percent(50) == 30


def test_what_was_before_the_last_minute_does_not_count() -> None:
    busy = BusyTime(1, 0)
    busy.change(1, 0)
    shares = [busy.percent(at) for at in range(10, 130, 10)]
    busy.change(-1, 120)
    after = [busy.percent(at) for at in range(130, 200, 10)]

    assert set(shares) == {100}
    assert after == [83, 67, 50, 33, 17, 0, 0]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 100)), max_size=50),
)
def test_it_is_never_outside_of_all_the_time(steps: list[tuple[int, float]]) -> None:
    busy, now_s = BusyTime(3, 0), 0.0
    for at_work, takes_s in steps:
        busy.hold(at_work, now_s)
        now_s += takes_s
        assert busy.percent(now_s) in {None, *range(101)}
        assert len(busy.marks) <= WINDOW_S / STEP_S
