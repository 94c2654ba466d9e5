"""Definitions drawn at random: each part is taken over or named, nothing is made up."""

from __future__ import annotations

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from broker.declarations.converters import in_toml, read
from broker.declarations.documents import read as read_toml
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.formats.inventory import paths_of
from tests.broker.declarations.test_converters import binding, exchange, queue
from tests.broker.declarations.test_rabbitmq import Document, document, policy

ARGUMENTS = {
    "x-message-ttl": st.integers(0, 9) | st.just("soon"),
    "x-max-length": st.integers(0, 9),
    "x-overflow": st.sampled_from(
        ["drop-head", "reject-publish", "reject-publish-dlx"]
    ),
    "x-dead-letter-exchange": st.sampled_from(["", "x", "y", "none"]),
    "x-dead-letter-routing-key": st.sampled_from(["", "k", "q1", "q2"]),
    "x-queue-type": st.sampled_from(["classic", "quorum", "stream"]),
    "x-delivery-limit": st.integers(-1, 3),
    "x-expires": st.just(1000),
    "x-max-priority": st.just(5),
    "x-single-active-consumer": st.booleans(),
    "x-queue-mode": st.just("lazy"),
    "x-unheard-of": st.just([{"a": [], "b": {}}, 1]),
}
SOME = st.fixed_dictionaries({}, optional=ARGUMENTS)
NAMES = ["q1", "q2", "q3", "amq.gen-1"]
TYPES = ["direct", "topic", "fanout", "headers", "x-consistent-hash", "x-odd"]
DEFINITIONS = st.fixed_dictionaries(
    {
        name.removeprefix("x-"): values
        for name, values in ARGUMENTS.items()
        if name in ("x-message-ttl", "x-max-length", "x-dead-letter-exchange")
    }
    | {"alternate-exchange": st.just("y")}
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    made = [
        queue(name) | {"arguments": draw(SOME), "durable": draw(st.booleans())}
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=5))
    ]
    bound = st.builds(
        binding,
        st.sampled_from(["x", "y", "amq.topic", ""]),
        st.sampled_from([*NAMES, "gone"]),
        st.sampled_from(["k", "#", "*.k", "a.#.b", "*.#.b", ""]),
    )
    policies = st.builds(
        policy,
        st.text(string.ascii_letters, max_size=3),
        st.sampled_from(["", "q1", "^x", "(", "[[:alnum:]]"]),
        st.integers(0, 2),
        apply_to=st.sampled_from(["all", "queues", "classic_queues", "exchanges"]),
    )
    return document(
        queues=made,
        exchanges=[exchange(name, draw(st.sampled_from(TYPES))) for name in "xy"],
        bindings=draw(st.lists(bound, max_size=6)),
        policies=[
            one | {"definition": draw(DEFINITIONS)}
            for one in draw(st.lists(policies, max_size=2))
        ],
        users=[{"name": "u", "tags": []}],
        odd=[{"a": 1}],
    )


@given(documents())
def test_each_part_is_taken_over_or_named_and_nothing_is_made_up(
    given: Document,
) -> None:
    found = read("rabbitmq", json.dumps(given).encode())
    counts = found.parts.counts

    assert counts.read == len(list(paths_of(given)))
    assert counts.read == counts.taken + counts.named + counts.defaults
    there = {one["name"] for part in ("queues", "exchanges") for one in given[part]}
    sources = {"amq.topic"} | there
    made = {key[0] for kind, key in found.objects if kind in (QUEUE, ADDRESS)}
    assert made <= there
    assert {key[0] for kind, key in found.objects if kind is SETTING} <= sources
    assert read_toml(in_toml(found, "rabbitmq", source="f"))[0]


@given(documents())
def test_nothing_of_one_queue_changes_what_others_say(given: Document) -> None:
    found = read("rabbitmq", json.dumps(given).encode())
    queues: dict[str, list[str]] = {}
    for (kind, key), values in found.objects.items():
        if kind is QUEUE:
            queues.setdefault(values.get("address", key[0]), []).append(key[0])
    rows = {one["name"]: one["arguments"] for one in reversed(given["queues"])}
    has_policies = bool(given["policies"])
    for (kind, key), values in found.objects.items():
        members = queues.get(key[0], [])
        if kind is SETTING and "max_expiry_delay_ms" in values and not has_policies:
            lives = {rows[name].get("x-message-ttl") for name in members}
            assert lives <= {values["max_expiry_delay_ms"]}
        if kind is QUEUE and "max_depth" in values:
            assert queues[values.get("address", key[0])] == [key[0]]
