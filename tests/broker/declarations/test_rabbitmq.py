"""Definitions of RabbitMQ: all is taken over or named, and nothing of one queue changes
another's messages."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.client import put
from broker.declarations import apply, plan
from broker.declarations.converters import convert, in_toml, read
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.erlang_patterns import (
    NamePattern,
    patterns_of,
)
from broker.declarations.converters.rabbitmq.routing_keys import (
    is_exact,
    matches,
    of_headers,
    of_keys,
)
from broker.declarations.documents import read as read_toml
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.formats.inventory import paths_of
from broker.formats.selectors import parse
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


def test_rights_have_the_prefix_of_their_virtual_host() -> None:
    elsewhere = queue("a") | {"vhost": "prod"}
    may = {"user": "shop", "vhost": "prod", "configure": "", "write": "^(a|b\\.c)$"}
    found = converted(
        queues=[queue("a"), elsewhere], permissions=[may | {"read": "^a\\..*"}]
    )

    text = in_toml(found, "rabbitmq", source="f")
    assert '"prod.a" = ["put"]' in text
    assert '"prod.b.c" = ["put"]' in text
    assert '"prod.a.#" = ["browse", "get", "inquire"]' in text
    assert {("a",), ("prod.a",)} == {
        key for kind, key in found.objects if kind is QUEUE
    }


def test_a_queue_without_a_binding_is_apart_from_the_exchange_of_its_name() -> None:
    found = converted(
        queues=[queue("orders"), queue("bound")],
        exchanges=[exchange("orders", "fanout")],
        bindings=[binding("orders", "bound", "")],
    )

    assert found.objects[QUEUE, ("orders",)]["address"] == "orders.queue"
    assert "let its producers send to that" in comments(found)


@pytest.mark.parametrize(
    ("expression", "patterns"),
    [
        ("", []),
        ("^$", []),
        (".*", ["#"]),
        ("^.*$", ["#"]),
        ("^a\\.b$", ["a.b"]),
        ("^(a|b-c)$", ["a", "b-c"]),
        ("^a\\..*", ["a.#"]),
        ("^a\\..*$", ["a.#"]),
        ("^a.*", None),
        ("a", None),
        ("^a|b$", None),
        ("^a..*", None),
    ],
)
def test_expressions_become_patterns_that_match_the_same(
    expression: str, patterns: list[str] | None
) -> None:
    assert patterns_of(expression) == patterns


@pytest.mark.parametrize(
    ("expression", "name", "is_match"),
    [
        ("", "any", True),
        ("rd", "orders", True),
        ("^[[:alpha:]]+$", "orders", True),
        ("^[[:digit:]_-]+$", "orders", False),
        ("^\\Qa.b\\E$", "a.b", True),
        ("^\\Qa.b\\E$", "axb", False),
        ("^(?!amq\\.).*", "amq.x", False),
        ("(?i)^ORD", "orders", True),
        ("\\w", "ü", False),
        ("[[]", "[", True),
        ("[^]a]", "]", False),
        ("(", "(", False),
        ("*", "*", False),
    ],
)
def test_patterns_of_policies_are_those_of_erlang(
    expression: str, name: str, *, is_match: bool
) -> None:
    assert NamePattern.of(expression).matches(name) is is_match


WORDS = st.sampled_from(["a", "b_", "%", "it's", ""])
KEYS = st.lists(WORDS, max_size=4).map(".".join)
PATTERN_WORDS = WORDS | st.sampled_from(["*", "#", "#"])
PATTERNS = st.lists(PATTERN_WORDS, min_size=1, max_size=4).map(".".join)


@given(patterns=st.lists(PATTERNS, min_size=1, max_size=3), key=KEYS)
def test_selectors_take_what_bindings_to_topics_take(
    patterns: list[str], key: str
) -> None:
    selector, nearly = of_keys(patterns, is_topic=True)
    taken = not selector or parse(selector).matches({"JMSType": key or None}) is True
    wanted = any(matches(one, key, is_topic=True) for one in patterns)

    assert taken >= wanted
    assert taken == wanted or nearly
    assert nearly == [] or any(not is_exact(one) for one in patterns)


@pytest.mark.parametrize(
    ("pattern", "key", "is_match"),
    [
        ("#", "", True),
        ("*", "", False),
        ("*", "a", True),
        ("", "", True),
        ("a.#", "a", True),
        ("#.b", "a.a.b", True),
        ("*.#.b", "b", False),
        ("*.#.b", "a.b", True),
        ("a.*", "a", False),
        ("a.*", "a.", True),
    ],
)
def test_keys_match_patterns(pattern: str, key: str, *, is_match: bool) -> None:
    assert matches(pattern, key, is_topic=True) is is_match


@pytest.mark.parametrize(
    ("arguments", "selector"),
    [
        ([{"a": "x", "n": 1}], "(a = 'x' AND n = 1)"),
        ([{"x-match": "any", "a": True, "b": 2.5}], "(a = TRUE OR b = 2.5)"),
        (
            [{"content-type": "it's", "and": 1}],
            "(\"content-type\" = 'it''s' AND \"and\" = 1)",
        ),
        ([{"x-match": "all", "x-own": 1}], ""),
        ([{"x-match": "all-with-x", "x-own": None}], '("x-own" IS NOT NULL)'),
        ([{"x-match": "any"}], None),
        ([{"a": 1}, {"b": 2}], "(a = 1) OR (b = 2)"),
    ],
)
def test_headers_become_selectors(
    arguments: list[Document], selector: str | None
) -> None:
    assert of_headers(arguments) == selector
    if selector:
        parse(selector)


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
