"""Permissions of RabbitMQ's users become no more rights than they are there."""

from __future__ import annotations

from typing import Any

import pytest

from broker.declarations.converters import in_toml
from broker.declarations.kinds import QUEUE
from tests.broker.declarations.test_converters import exchange, queue
from tests.broker.declarations.test_rabbitmq import comments, converted

Document = dict[str, Any]


def at(host: str, row: Document) -> Document:
    return row | {"vhost": host}


def may(host: str, read: str) -> Document:
    return {"user": "shop", "vhost": host, "configure": "", "write": "", "read": read}


def test_rights_have_the_prefix_of_their_virtual_host() -> None:
    elsewhere = queue("a") | {"vhost": "prod"}
    may = {"user": "shop", "vhost": "prod", "configure": "", "write": "^(a|b\\.c)$"}
    found = converted(
        queues=[queue("a"), elsewhere], permissions=[may | {"read": "^c\\..*"}]
    )

    text = in_toml(found, "rabbitmq", source="f")
    assert '"prod.a" = ["put"]' in text
    assert '"prod.b.c" = ["put"]' in text
    assert '"prod.c.#" = ["browse", "get", "inquire"]' in text
    assert {("a",), ("prod.a",)} == {
        key for kind, key in found.objects if kind is QUEUE
    }


@pytest.mark.parametrize(
    ("queues", "permission", "granted"),
    [
        ([("/", "a"), ("prod", "b")], may("/", ".*"), ["a"]),
        ([("/", "prod"), ("prod", "b")], may("prod", ".*"), ["prod.b"]),
        ([("prod", "b")], may("test", ".*"), ["test.#"]),
        ([("prod", "b")], may("/", ".*"), []),
        ([("/", "a"), ("/", "a.b")], may("/", "^a\\..*$"), ["a.b"]),
        ([("/", "a.b"), ("prod", "b")], may("/", "^a\\..*$"), ["a.#"]),
        ([("/", "a"), ("/", "b")], may("/", ".*"), ["#"]),
        ([("prod", "a")], may("prod", ".*"), ["#"]),
    ],
)
def test_nobody_gets_a_right_to_what_they_have_none_to(
    queues: list[tuple[str, str]], permission: Document, granted: list[str]
) -> None:
    rows = [at(host, queue(name)) for host, name in queues]
    found = converted(queues=rows, permissions=[permission])

    rights = '["browse", "get", "inquire"]'
    lines = [one.strip() for one in comments(found).splitlines()]
    assert [one for one in lines if rights in one] == [
        f'"{name}" = {rights}' if set(name) & set("#.") else f"{name} = {rights}"
        for name in granted
    ]
    is_told = granted not in (["#"], ["a.#"], ["test.#"])
    assert ("would match more of this file here" in comments(found)) is is_told
    counts = found.parts.counts
    assert counts.read == counts.taken + counts.named + counts.defaults


def test_tenants_without_queues_get_rights_within_their_virtual_hosts() -> None:
    found = converted(
        vhosts=[{"name": "one"}, {"name": "two"}],
        permissions=[may("one", ".*"), may("two", ".*")],
    )

    assert '"one.#"' in comments(found)
    assert '"two.#"' in comments(found)
    assert '"#"' not in comments(found)
    assert found.parts.counts.taken == 0


def test_exchanges_are_kept_apart_from_rights_as_queues_are() -> None:
    found = converted(
        queues=[queue("x.a")],
        exchanges=[exchange("x", "fanout")],
        permissions=[may("/", "") | {"write": "^x\\..*$"}],
    )

    assert '"x.a" = ["put"]' in comments(found)
    assert '"x.#"' not in comments(found)
