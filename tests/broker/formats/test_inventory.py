"""Each part of a file is taken over, a default, or named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.formats.inventory import Inventory, Path, paths_of

FILE = {
    "queues": [{"name": "orders", "ttl": 5}, {"name": "eu", "ttl": 5, "x": {"y": []}}],
    "users": [{"name": "shop", "tags": ["a", "b"]}],
    "hosts": {"/": {"name": "/"}},
}
leaves = st.none() | st.booleans() | st.integers() | st.text()
documents = st.recursive(
    leaves, lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=20
)


def test_each_value_and_each_empty_group_is_a_part() -> None:
    assert list(paths_of(FILE)) == [
        ("queues", 0, "name"),
        ("queues", 0, "ttl"),
        ("queues", 1, "name"),
        ("queues", 1, "ttl"),
        ("queues", 1, "x", "y"),
        ("users", 0, "name"),
        ("users", 0, "tags", 0),
        ("users", 0, "tags", 1),
        ("hosts", "/", "name"),
    ]


def test_what_is_left_is_named_by_itself_and_a_whole_group_once() -> None:
    parts = Inventory(paths_of(FILE))
    parts.take(("queues", 0, "name"), ("queues", 1, "name"))
    parts.default(("hosts", "/", "name"))

    what_to_do = "If it matters, set by hand what comes nearest to it."
    told = "is not known here; nothing was made of it."
    assert list(parts.comments()) == [
        f"/queues/0/ttl; /queues/1/ttl: ttl {told} {what_to_do}",
        f"/queues/1/x: x {told} {what_to_do}",
        f"/users: users {told} {what_to_do}",
    ]
    assert str(parts.counts) == (
        "9 parts read: 2 taken over, 6 named in comments, 1 as by default."
    )


def test_equal_sentences_are_one_comment_with_their_places() -> None:
    parts = Inventory(paths_of(FILE), place=lambda path: f"queue {path[1]}")
    parts.name("it lives five seconds.", ("queues", 0, "ttl"), ("queues", 1, "ttl"))
    parts.name("it lives five seconds.", ("queues", 1, "ttl"))

    assert next(parts.comments()) == "queue 0; queue 1: it lives five seconds."


def test_places_that_differ_in_their_line_are_one() -> None:
    lines = {"a": "line 3, a queue", "b": "line 4, a queue", "c": "line 4, an alias"}
    parts = Inventory([(one,) for one in lines], place=lambda path: lines[path[0]])  # type: ignore[index]
    parts.name("so.", *parts.paths)

    assert list(parts.comments()) == ["lines 3, 4, a queue; line 4, an alias: so."]


def test_a_part_counts_once_and_a_group_is_named_without_what_was_taken_of_it() -> None:
    parts = Inventory(paths_of(FILE))
    parts.take(("queues", 0, "name"), ("queues", 0, "ttl"), ("users", 0, "name"))
    parts.name("nearly the same.", ("queues", 0, "ttl"))
    parts.name("users are made by hand.", ("users",))
    parts.default(("queues", 0, "name"))

    assert parts.sorted_out()["queues", 0, "ttl"] == "named"
    assert parts.sorted_out()["queues", 0, "name"] == "taken"
    assert parts.sorted_out()["users", 0, "name"] == "taken"
    assert parts.sorted_out()["users", 0, "tags", 1] == "named"


def test_what_the_file_does_not_have_cannot_be_taken() -> None:
    parts = Inventory(paths_of(FILE))
    for refused in (parts.take, parts.default):
        with pytest.raises(KeyError):
            refused(("queues", 2, "name"))
        with pytest.raises(KeyError):
            refused(("queues", 0))
    with pytest.raises(KeyError):
        parts.name("it is not there.", ("queues", 2))


@given(documents, st.data())
def test_every_part_is_counted_and_every_one_that_is_left_is_named(
    document: object, data: st.DataObject
) -> None:
    paths = list(paths_of(document))
    parts = Inventory(paths)
    some = st.lists(st.sampled_from(paths))
    parts.take(*data.draw(some))
    parts.default(*data.draw(some))
    above = sorted(parts.within, key=repr)
    named: list[Path] = data.draw(st.lists(st.sampled_from(above)))
    parts.name("so.", *named)

    counts = parts.counts
    assert counts.read == len(set(paths))
    assert counts.read == counts.taken + counts.named + counts.defaults
    groups = [*named, *parts.left()]
    for path in set(paths) - parts.taken - parts.defaults:
        assert any(path[:size] in groups for size in range(len(path) + 1))
