"""The hostile sessions themselves: they can be repeated, and are hostile."""

from __future__ import annotations

from random import Random

from broker.amqp.protocol.frames import AMQP_HEADER
from tests.amqp.course import Course
from tests.amqp.fuzzing import Plan
from tests.amqp.mutating import MUTATIONS, mutate, read_frame

SEEDS = 200


def frames() -> list[bytes]:
    course = Course("user", "secret", "orders")
    return [one for say, _ in course.steps() for one in say()]


def test_the_same_seed_makes_the_same_session() -> None:
    for seed in range(SEEDS):
        assert mutate(frames(), Random(seed)) == mutate(frames(), Random(seed))


def test_nearly_every_session_has_something_wrong_in_it() -> None:
    good = frames()
    same = [seed for seed in range(SEEDS) if mutate(good, Random(seed)) == good]
    assert len(same) < SEEDS / 20


def test_every_mutation_changes_something() -> None:
    good = frames()
    for mutation in set(MUTATIONS):
        changed = [list(good) for _ in range(20)]
        for seed, one in enumerate(changed):
            mutation(one, Random(seed))
        assert any(one != good for one in changed), mutation


def test_the_good_session_is_made_of_whole_frames() -> None:
    good = frames()
    headers = [one for one in good if one.startswith(AMQP_HEADER[:4])]
    assert len(headers) == 2
    assert all(read_frame(one) for one in good if one not in headers)


def test_a_plan_has_as_many_sessions_of_each_kind_as_it_says() -> None:
    plan = Plan(raw=10, lock_step=7)
    kinds = [is_in_step for _, is_in_step in plan.numbers()]
    assert len(kinds) == 17
    assert sum(kinds) == 7
    assert sum(kinds[:9]) in (3, 4), "they are mixed evenly"
