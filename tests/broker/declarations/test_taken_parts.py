"""What a converter says it took over is in what was made, and what it says is so anyway
changes nothing: without the part, something else is made, or the same."""

from __future__ import annotations

import json

import pytest

from broker.declarations.converters.mqsc import queues as mqsc_queues
from broker.declarations.converters.mqsc import topics as mqsc_topics
from broker.formats.inventory import Path
from tests.broker.declarations.removing import REMOVERS, made, parts
from tests.broker.declarations.test_converters import binding, exchange, queue
from tests.broker.declarations.test_rabbitmq import Document, document, policy

MQSC = {
    "queues": """DEFINE QLOCAL(A) MAXDEPTH(7) MAXMSGL(100) BOTHRESH(3) BOQNAME(B) +
 DESCR('all') GET(DISABLED) PUT(DISABLED) HARDENBO CAPEXPRY(600)
DEFINE QLOCAL(C) CUSTOM('CAPEXPRY(50)') DEFPSIST(YES) PUT(ENABLED) BOTHRESH(0)
DEFINE QMODEL(M) DEFTYPE(PERMDYN) BOTHRESH(5)
DEFINE QALIAS(L) TARGET(A)
DEFINE QALIAS(K) TARGQ(A) TARGTYPE(QUEUE)""",
    "topics": """DEFINE TOPIC(T) TOPICSTR('prices') MDURMDL(D) MNDURMDL(N) CAPEXPRY(10)
DEFINE QLOCAL(Q)
DEFINE QLOCAL(R)
DEFINE SUB(S) TOPICOBJ(T) TOPICSTR('eu') DEST(Q) SELECTOR('JMSPriority > 3')
DEFINE SUB(U) TOPICSTR('news') DEST(R)
DEFINE QALIAS(P) TARGET(T) TARGTYPE(TOPIC)""",
    "inheriting": """ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) BOTHRESH(9)
DEFINE QLOCAL(A) MAXDEPTH(7)
DEFINE QLOCAL(B) LIKE(A)
ALTER QLOCAL(A) DESCR('later')""",
    "deleting": "DELETE QLOCAL(GONE) PURGE\nDELETE QALIAS(OLD)",
}
DEAD: Document = {"dead_letter_exchange": "dlx"}
HOST = {"vhost": "shop"}


def unsaid(name: str, **arguments: str) -> Document:
    """An exchange that is direct, as one of which no type is said."""
    given = {key.replace("_", "-"): value for key, value in arguments.items()}
    return {"name": name, "vhost": "/", "arguments": given}


RABBITMQ = {
    "queues": document(
        queues=[
            queue("orders", queue_type="quorum", delivery_limit=3, message_ttl=5000,
                  max_length=7, overflow="reject-publish", **DEAD),
            queue("quorum", queue_type="quorum"),
            queue("typed") | {"type": "quorum"},
            queue("one", dead_letter_exchange="", dead_letter_routing_key="two"),
            queue("two", durable=False),
        ],
        exchanges=[unsaid("dlx")],
    ),
    "bindings": document(
        queues=[queue(name) for name in "abcde"],
        exchanges=[
            *(exchange("t", "topic"), exchange("h", "headers")),
            *(exchange("f", "fanout"), unsaid("s", alternate_exchange="f")),
            exchange("l", "x-delayed-message")
            | {"arguments": {"x-delayed-type": "topic"}},
        ],
        bindings=[
            binding("t", "a", "eu.*"),
            binding("t", "a", "uk"),
            binding("h", "b", "") | {"arguments": {"x-match": "any", "eu": 1, "b": 2}},
            binding("f", "c", "any"),
            binding("l", "d", "k.*"),
            binding("amq.topic", "e", "x.y"),
        ],
    ),
    "letters": document(
        queues=[
            queue("a", **DEAD, dead_letter_routing_key="from.a"),
            queue("b", **DEAD, dead_letter_routing_key="from.b"),
            *(queue("dead a"), queue("dead b")),
        ],
        exchanges=[unsaid("dlx")],
        bindings=[
            binding("dlx", "dead a", "from.a"),
            binding("dlx", "dead b", "from.b"),
        ],
    ),
    "policies": document(
        queues=[queue("orders"), queue("other"), queue("q", queue_type="quorum"),
                queue("x")],
        exchanges=[unsaid("e"), unsaid("f")],
        policies=[
            policy("low", "^o", 0, message_ttl=20),
            policy("high", "^or|^q", 1, apply_to="classic_queues", message_ttl=1000,
                   max_length=3, overflow="reject-publish"),
            policy("e", "^e|^x", 0, apply_to="exchanges", alternate_exchange="lost",
                   dead_letter_exchange="lost"),
        ],
    ),
    "operators": document(
        queues=[queue("orders"), queue("other"), queue("q", queue_type="quorum"),
                queue("z"), queue("zq", queue_type="quorum")],
        policies=[policy("p", "", message_ttl=9000)],
        operator_policies=[
            policy("low", "^o", 0, message_ttl=40),
            policy("high", "^or|^q|^z$", 1, apply_to="classic_queues",
                   message_ttl=4000),
        ],
        parameters=[
            {
                "component": "operator_policy", "name": "q", "vhost": "/",
                "value": {
                    "pattern": "^z", "priority": 2, "apply-to": "classic_queues",
                    "definition": [["message-ttl", 5]],
                },
            }
        ],
    ),
    "hosts": document(
        vhosts=[
            {"name": "/"},
            {"name": "shop", "default_queue_type": "quorum"},
            {"name": "old", "metadata": {"default_queue_type": "quorum"}},
        ],
        queues=[
            *(queue("a"), queue("b", **DEAD) | HOST, queue("c") | {"vhost": "old"}),
            queue("d") | HOST,
        ],
        exchanges=[exchange("e", "fanout") | HOST],
        bindings=[binding("e", "b", "key") | HOST],
        policies=[policy("p", "b", message_ttl=1000) | HOST],
    ),
}  # fmt: skip
FILES = {f"mqsc {name}": text for name, text in MQSC.items()} | {
    f"rabbitmq {name}": json.dumps(one) for name, one in RABBITMQ.items()
}
# What may be left out, as it has these values then. Names of policies decide nothing.
USUAL = {("vhost", "/"), ("priority", 0), ("apply-to", "all"), ("pattern", "")}
POLICIES = ("policies", "operator_policies", "parameters")
# Parts that are taken over, and without which the same is made.
SILENT: dict[str, dict[Path, str]] = {
    "rabbitmq queues": {
        ("queues", 0, "arguments", "x-overflow"): "it is so here; else it is named",
    },
    "rabbitmq policies": {
        ("policies", 1, "definition", "overflow"): "it is so here; else it is named",
    },
    "mqsc queues": {(4, "TARGTYPE"): "QUEUE, as if nothing were said"},
    "mqsc topics": {
        (1, "DEFINE QLOCAL"): "the subscription to it makes it, too",
        (2, "DEFINE QLOCAL"): "the subscription to it makes it, too",
    },
}
# Parts that are called defaults, and without which another thing is made.
LOUD: dict[str, dict[Path, str]] = {
    "rabbitmq queues": {
        ("queues", 0, "arguments", "x-queue-type"): "so delivery-limit has an effect",
    },
    "mqsc inheriting": {(0, "ALTER QLOCAL"): "with it goes what it says"},
}


def is_usual(form: str, text: str, path: Path) -> bool:
    if form == "mqsc":
        return False
    key, value = path[-1], json.loads(text)
    for one in path:
        value = value[one]
    if key == "name":
        return path[0] in POLICIES
    return isinstance(value, str | int) and (key, value) in USUAL


def without_each(file: str, end: str) -> dict[Path, bool]:
    """The parts that became this, and whether the same is made without each."""
    form, text = file.partition(" ")[0], FILES[file]
    whole = made(form, text)
    return {
        path: made(form, REMOVERS[form](text, path)) == whole
        for path, became in parts(form, text).items()
        if became == end and not is_usual(form, text, path)
    }


@pytest.mark.parametrize("file", FILES)
def test_without_a_part_that_was_taken_over_something_else_is_made(file: str) -> None:
    found = without_each(file, "taken")

    assert found
    assert {path for path, is_same in found.items() if is_same} == set(
        SILENT.get(file, {})
    )


@pytest.mark.parametrize("file", FILES)
def test_without_a_part_that_says_what_is_so_anyway_the_same_is_made(file: str) -> None:
    found = without_each(file, "default")

    assert {path for path, is_same in found.items() if not is_same} == set(
        LOUD.get(file, {})
    )


def test_the_scripts_have_each_keyword_that_can_be_taken_over() -> None:
    taken = {
        str(path[-1])
        for text in MQSC.values()
        for path, end in parts("mqsc", text).items()
        if end == "taken"
    }

    known = {*mqsc_queues.NUMBERS, *mqsc_queues.NAMES, *mqsc_topics.MODELS}
    known |= {key for key, _ in mqsc_queues.FLAGS} - {"HARDENBO"}  # it is so here
    known |= {"CAPEXPRY", "CUSTOM", "TARGET", "TARGQ", "TARGTYPE", "LIKE", "PURGE"}
    known |= {"TOPICSTR", "TOPICOBJ", "DEST", "SELECTOR"}
    assert known - taken == {"DEST"}  # it is named as well, for what is put to it


def test_the_definitions_have_each_argument_that_can_be_taken_over() -> None:
    taken = {
        str(path[-1])
        for one in RABBITMQ.values()
        for path, end in parts("rabbitmq", json.dumps(one)).items()
        if end == "taken"
    }

    assert {
        *("x-message-ttl", "x-max-length", "x-overflow", "x-delivery-limit"),
        *("x-dead-letter-exchange", "x-dead-letter-routing-key", "x-queue-type"),
        *("alternate-exchange", "x-delayed-type", "x-match", "default_queue_type"),
        *("name", "vhost", "type", "source", "destination", "routing_key"),
        *("pattern", "priority", "apply-to", "message-ttl", "max-length"),
    } <= taken
