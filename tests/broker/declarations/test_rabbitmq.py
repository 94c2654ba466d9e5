"""Definitions of RabbitMQ: all is taken over or named, and nothing of one queue changes
another's messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.client import put
from broker.declarations import apply, plan
from broker.declarations.converters import convert, read
from broker.declarations.converters.converted import Converted
from broker.declarations.documents import read as read_toml
from broker.declarations.kinds import QUEUE, SETTING
from broker.models import Queue
from broker.queueing import journal
from broker.settlement.expiry import expire
from tests.broker.declarations.test_converters import binding, exchange, queue
from tests.make import NOON, seconds

Document = dict[str, Any]
VERSION = "3.13.7"


def policy(name: str, pattern: str, priority: int = 0, **more: Any) -> Document:
    fit = more.pop("apply_to", "all")
    definition = {key.replace("_", "-"): value for key, value in more.items()}
    return {
        "name": name, "vhost": "/", "pattern": pattern, "priority": priority,
        "apply-to": fit, "definition": definition,
    }  # fmt: skip


def document(**parts: Any) -> Document:
    return {"rabbit_version": VERSION, "queues": [], **parts}


def converted(**parts: Any) -> Converted:
    return read("rabbitmq", json.dumps(document(**parts)).encode())


def settings_of(found: Converted, address: str = "orders") -> dict[str, Any]:
    return found.objects.get((SETTING, (address,)), {})


def comments(found: Converted) -> str:
    return "\n".join(found.comments)


def set_up(**parts: Any) -> str:
    text = convert("rabbitmq", json.dumps(document(**parts)).encode(), source="f")
    declared, _ = read_toml(text)
    apply(plan(declared))
    assert plan(read_toml(text)[0]).changes == []
    return text


def held() -> dict[str, int]:
    names = dict(Queue.objects.values_list("pk", "name"))
    return {names[pk]: one.total for pk, one in journal.depths().items() if one.total}


BOTH = ("short", "plain")
NEWS = [exchange("news", "fanout"), exchange("dead", "fanout")]
BOUND = [
    binding("news", "short", ""),
    binding("news", "plain", ""),
    binding("dead", "dead letters", ""),
]


@pytest.mark.django_db
def test_the_time_to_live_of_a_queue_ends_no_message_of_its_sibling() -> None:
    short = queue("short", message_ttl=5000, dead_letter_exchange="dead")
    text = set_up(
        queues=[short, queue("plain"), queue("dead letters")],
        exchanges=NEWS,
        bindings=BOUND,
    )
    put("news", b"for both", now=NOON)

    expire(limit=9, now=NOON + seconds(8))

    assert held() == {"short": 1, "plain": 1}
    assert "queue short, x-message-ttl: It belongs to this queue" in text
    assert "which feeds plain too" in text
    assert "set max_expiry_delay_ms = 5000" in text


@pytest.mark.django_db
def test_what_all_queues_of_an_address_say_is_a_setting_of_it() -> None:
    alike: Document = {"message_ttl": 5000, "dead_letter_exchange": "dead"}
    set_up(
        queues=[
            queue("short", **alike),
            queue("plain", **alike),
            queue("dead letters"),
        ],
        exchanges=NEWS,
        bindings=BOUND,
    )
    put("news", b"for both", now=NOON)

    expire(limit=9, now=NOON + seconds(8))

    assert held() == {"dead letters": 2}


@pytest.mark.django_db
def test_a_full_queue_refuses_nothing_that_its_sibling_takes() -> None:
    text = set_up(
        queues=[
            queue("short", max_length=1, overflow="reject-publish"),
            queue("plain"),
        ],
        exchanges=NEWS,
        bindings=BOUND[:2],
    )

    put("news", b"1")
    put("news", b"2")

    assert held() == {"short": 2, "plain": 2}
    assert "Its address feeds plain too" in text
    assert Queue.objects.get(name="short").max_depth is None


@pytest.mark.django_db
def test_dead_letters_go_by_their_new_routing_keys() -> None:
    ends: Document = {"dead_letter_exchange": "dlx", "message_ttl": 5000}
    set_up(
        queues=[
            queue("a", **ends, dead_letter_routing_key="from.a"),
            queue("b", **ends, dead_letter_routing_key="from.b"),
            queue("c", **ends),
            *(queue("dead a"), queue("dead c")),
        ],
        exchanges=[exchange("dlx", "topic")],
        bindings=[binding("dlx", "dead a", "*.a"), binding("dlx", "dead c", "c.#")],
    )
    put("a", subject="c.x", now=NOON)
    put("b", subject="c.x", now=NOON)
    put("c", subject="c.x", now=NOON)
    put("dlx", subject="x.a", now=NOON)

    expire(limit=9, now=NOON + seconds(8))

    assert held() == {"dead a": 2, "dead c": 1}


@pytest.mark.parametrize(
    ("fit", "kinds"),
    [
        ("all", "cqse"),
        ("queues", "cqs"),
        ("classic_queues", "c"),
        ("quorum_queues", "q"),
        ("streams", "s"),
        ("exchanges", "e"),
    ],
)
def test_a_policy_applies_to_its_type(fit: str, kinds: str) -> None:
    types = {"c": "classic", "q": "quorum", "s": "stream"}
    found = converted(
        queues=[queue(f"{k}.q", queue_type=kind) for k, kind in types.items()],
        exchanges=[exchange("e", "fanout")],
        policies=[
            policy("p", "", apply_to=fit, dead_letter_exchange="dead",
                   alternate_exchange="other"),
        ],
    )  # fmt: skip

    dead = {
        k for k in "cqs"
        if settings_of(found, f"{k}.q").get("dead_letter_address") == "dead"
    }  # fmt: skip
    assert dead == set(kinds) & set("cqs")
    other = settings_of(found, "e")
    assert ("e" in kinds) is (other.get("dead_letter_address") == "other")
    assert ("e" in kinds) is other.get("send_to_dla_on_no_route", False)


def test_the_policy_of_the_highest_priority_applies_alone() -> None:
    found = converted(
        queues=[queue("orders")],
        policies=[
            policy("low", "^ord", 1, message_ttl=1, dead_letter_exchange="dead"),
            policy("high", "ers$", 5, message_ttl=9000),
            policy("elsewhere", "^x", 9, message_ttl=2),
        ],
    )

    assert settings_of(found) == {"max_expiry_delay_ms": 9000}
    said = comments(found)
    assert "policy low; policy elsewhere: It applies to nothing in this file" in said


@pytest.mark.parametrize("is_parameter", [True, False])
def test_the_policy_of_an_operator_limits_that_of_a_user(*, is_parameter: bool) -> None:
    operator = policy("op", "^o", message_ttl=500, max_length=70)
    parts: Document = {"operator_policies": [operator]}
    if is_parameter:  # as rabbitmqctl exports it
        value = operator | {"definition": [["message-ttl", 500], ["max-length", 70]]}
        for key in ("name", "vhost"):
            del value[key]
        parts = {"parameters": [
            {"component": "operator_policy", "name": "op", "vhost": "/", "value": value}
        ]}  # fmt: skip
    found = converted(
        queues=[queue("orders", max_length=7)],
        policies=[policy("p", "^o", message_ttl=1000, max_length=80)],
        **parts,
    )

    assert settings_of(found) == {"max_expiry_delay_ms": 500}
    assert found.objects[QUEUE, ("orders",)]["max_depth"] == 7
    (said,) = [one for one in found.comments if "operator" in one]
    assert said.startswith(
        "policy p, max-length; operator policy op, max-length; queue orders,"
        " x-max-length: When it is full, the oldest message is dropped there"
    )


@pytest.mark.parametrize(
    ("arguments", "version", "attempts"),
    [
        ({"queue_type": "quorum", "delivery_limit": 4}, "3.13.7", 5),
        ({"queue_type": "quorum", "delivery_limit": -1}, "4.0.5", -1),
        ({"queue_type": "quorum", "delivery_limit": 0}, "4.0.5", 1),
        ({"queue_type": "quorum"}, "4.1.0", 21),
        ({"queue_type": "quorum"}, "3.13.7", -1),
        ({"delivery_limit": 4}, "3.13.7", None),  # it is classic
        ({}, "4.1.0", None),
    ],
)
def test_deliveries_are_limited_as_there(
    arguments: Document, version: str, attempts: int | None
) -> None:
    found = converted(queues=[queue("orders", **arguments)], rabbit_version=version)

    assert settings_of(found).get("max_delivery_attempts") == attempts


def test_a_policy_and_an_argument_without_limit_have_none() -> None:
    found = converted(
        queues=[queue("orders", queue_type="quorum", delivery_limit=-1)],
        policies=[policy("p", "", delivery_limit=5)],
    )

    assert settings_of(found)["max_delivery_attempts"] == 6


def test_a_queue_type_is_that_of_its_virtual_host_by_default() -> None:
    found = converted(
        queues=[queue("orders", delivery_limit=2)],
        vhosts=[{"name": "/", "metadata": {"default_queue_type": "quorum"}}],
    )

    assert settings_of(found) == {"max_delivery_attempts": 3}


@pytest.mark.parametrize(
    ("key", "siblings", "to"),
    [("dead", [], "dead"), ("gone", [], "gone"), ("dead", ["beside"], None)],
)
def test_dead_letters_for_one_queue_reach_no_other(
    key: str, siblings: list[str], to: str | None
) -> None:
    ends: Document = {"dead_letter_exchange": "", "dead_letter_routing_key": key}
    names = ["dead", *siblings]
    found = converted(
        queues=[queue("orders", **ends), *map(queue, names)],
        exchanges=[exchange("x", "fanout")],
        bindings=[binding("x", name, "") for name in names if siblings],
    )

    assert settings_of(found).get("dead_letter_address") == to
    assert ("go to the queue dead alone there" in comments(found)) is (to is None)


def test_a_queue_without_a_binding_is_apart_from_the_exchange_of_its_name() -> None:
    found = converted(
        queues=[queue("orders"), queue("bound")],
        exchanges=[exchange("orders", "fanout")],
        bindings=[binding("orders", "bound", "")],
    )

    assert found.objects[QUEUE, ("orders",)]["address"] == "orders.queue"
    assert "let its producers send to that" in comments(found)


def test_dead_letters_that_no_queue_takes_are_told() -> None:
    found = converted(
        queues=[queue("orders", dead_letter_exchange="dlx")],
        exchanges=[exchange("dlx", "fanout")],
    )

    assert "Dead letters of orders go to dlx, of which no queue" in comments(found)


def test_what_is_as_by_default_draws_no_comment() -> None:
    may = {"user": "shop", "vhost": "/", "configure": "", "write": "", "read": "^$"}
    found = converted(
        queues=[queue("orders", queue_type="quorum", queue_mode="lazy")],
        exchanges=[exchange("amq.topic", "topic") | {"internal": False}],
        vhosts=[{"name": "/", "limits": [], "metadata": {"description": "x"}}],
        permissions=[may],
        global_parameters=[{"name": "cluster_name", "value": "rabbit@here"}],
        topic_permissions=[],
    )

    assert found.comments == []
