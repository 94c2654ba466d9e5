"""Circles of automatic moves are found, over all kinds of moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.config.circles import circles
from broker.config.lint import advice
from broker.config.moves import Move
from broker.models import AddressSetting, Queue, QueueAlias, RuleTable
from tests.broker.bridges.making import destination, kept, stored_link, stored_queue
from tests.make import make_queue, make_setting

Policy = AddressSetting.PoisonPolicy
pytestmark = pytest.mark.django_db

NAMES = "ABCDE"
DLQ = "SYSTEM.DEAD.LETTER.QUEUE"


def told() -> list[str]:
    return [str(one) for one in advice() if one.code == "circle-of-moves"]


def expire(name: str, to: str) -> None:
    make_setting(name, expiry_address=to, max_expiry_delay_ms=1000)


def fail(name: str, to: str) -> None:
    make_setting(name, dead_letter_address=to, max_delivery_attempts=2)


def back_out(name: str, to: str) -> None:
    fields = {"backout_threshold": 2, "backout_queue": to}
    Queue.objects.filter(name=name).update(**fields)


def carry(name: str, to: str, **fields: Any) -> None:
    """A link on this broker."""
    made = stored_link(f"{name} to {to}", target="this-broker", **fields)
    made.source = kept(destination(made.bridge, name))
    made.target = kept(destination(made.bridge, to))
    made.save()


def forward(name: str, to: str) -> None:
    RuleTable.objects.create(
        queue=Queue.objects.get(name=name), text=f"ACTION(FWD) FWDQ('{to}')",
        mode=RuleTable.Mode.ACTIVE,
    )  # fmt: skip


MOVES = (expire, fail, back_out, carry, forward)


@pytest.mark.parametrize("there", MOVES)
@pytest.mark.parametrize("back", MOVES)
def test_a_circle_of_two_moves_of_any_kinds_is_told(
    there: Callable[[str, str], None], back: Callable[[str, str], None]
) -> None:
    for name in (*"AB", DLQ):
        make_queue(name)
    there("A", "B")
    assert told() == []

    back("B", "A")

    (found,) = told()
    assert "from A to B" in found
    assert "from B to A" in found


def test_a_circle_by_way_of_another_broker_is_told() -> None:
    make_queue("A")
    link = stored_link("out", target="amqp")
    link.source = kept(destination(link.bridge, "A"))
    link.save()
    back = stored_link("back", "second", source="amqp", target="this-broker")
    back.source = kept(destination(back.bridge, "bills"))
    back.target = kept(destination(back.bridge, "A"))
    back.save()

    (found,) = told()

    assert "from A to queue bills of amqp://mq.test:5672 (link bridge/out)" in found
    assert "give the link second/back a selector" in found
    back.selector = "region = 'north'"
    back.save()
    assert told() == []


def test_dead_messages_that_their_link_reads_again_are_told() -> None:
    make_queue("A")
    link = stored_link("out", target="amqp")
    link.source = kept(destination(link.bridge, "A"))
    link.save()
    assert told() == []
    dead = stored_queue()
    dead.destination = link.source
    dead.save()

    (found,) = told()

    assert "from A to A (dead messages of link bridge/out)" in found


def test_a_link_that_reads_a_topic_is_fed_by_its_address() -> None:
    make_queue("A")
    make_queue("B")
    link = stored_link("back", source_kind="topic", target="this-broker")
    link.source = kept(destination(link.bridge, "news", kind="topic"))
    link.target = kept(destination(link.bridge, "A"))
    link.save()
    fail("A", "news")

    (found,) = told()

    assert "from A to subscription of bridge/back to news (dead letters)" in found


@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        ({"max_delivery_attempts": 2}, 1),
        ({"max_delivery_attempts": -1}, 0),
        ({"max_delivery_attempts": 2, "poison_policy": Policy.IBM}, 0),
        ({"max_delivery_attempts": 2, "poison_policy": Policy.NONE}, 0),
        ({"dead_letter_address": ""}, 0),
    ],
)
def test_dead_letters_go_only_as_their_settings_say(
    fields: dict[str, Any], goes: int
) -> None:
    make_queue("A")
    make_queue("B")
    make_setting("#", dead_letter_address="A")
    make_setting("A", **{"dead_letter_address": "B"} | fields)
    assert len(told()) == goes
    if goes:
        assert "allow -1 attempts for the address of A" in told()[0]


@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        ({"expiry_delay_ms": 0}, 1),
        ({"min_expiry_delay_ms": 5}, 1),
        ({}, 0),  # a copy has no time to live of its own
        ({"expiry_delay_ms": 5, "no_expiry": True}, 0),
        ({"expiry_delay_ms": 5, "poison_policy": Policy.IBM}, 0),
    ],
)
def test_messages_expire_only_as_their_settings_say(
    fields: dict[str, Any], goes: int
) -> None:
    make_queue("A")
    make_queue("B")
    expire("B", "A")
    make_setting("A", expiry_address="B", **fields)
    assert len(told()) == goes


def test_aliases_and_queues_to_be_created_are_part_of_circles() -> None:
    make_queue("A")
    QueueAlias.objects.create(name="alias", target="A")
    make_setting("A", dead_letter_address="B", auto_create_dead_letter_resources=True)
    assert told() == []
    make_queue("C", address="B", backout_threshold=1, backout_queue="alias")
    policy = make_setting("B", poison_policy=Policy.IBM)
    assert "from C to A (poison messages)" in told()[0]
    Queue.objects.get(name="C").delete()
    policy.delete()
    make_setting("#", dead_letter_address="A")
    assert "from B to A (dead letters)" in told()[0]


def test_the_dead_letter_queue_is_a_backout_queue_of_last_resort() -> None:
    make_queue(DLQ, backout_threshold=3, backout_queue="A")
    make_queue("A", backout_threshold=3)

    (found,) = told()

    assert f"from A to {DLQ} (poison messages)" in found


GRAPHS = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)))


def by_brute_force(edges: set[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Every circle, from the first of its names: each order of names is tried."""
    for count in range(1, len(NAMES) + 1):
        for names in permutations(NAMES, count):
            steps = zip(names, (*names[1:], names[0]), strict=True)
            if names[0] == min(names) and edges.issuperset(steps):
                yield names


@given(edges=GRAPHS)
@example(edges=set(permutations(NAMES, 2)))
def test_each_move_on_a_circle_is_on_one_that_is_told(
    edges: set[tuple[str, str]],
) -> None:
    every = set(by_brute_force(edges))

    found = [
        tuple(move.source for move in circle)
        for circle in circles(Move(*edge) for edge in edges)
    ]

    assert len(found) == len(set(found))
    assert every.issuperset(found)
    assert steps_of(every) == steps_of(found)


def steps_of(every: Iterable[tuple[str, ...]]) -> set[tuple[str, str]]:
    return {
        step
        for names in every
        for step in zip(names, (*names[1:], names[0]), strict=True)
    }
