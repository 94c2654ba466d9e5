"""Topics and administrative subscriptions.

A topic is the address that has its string as name. A subscription with a destination is
that queue, fed by the address.
"""

from __future__ import annotations

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.mqsc import words
from broker.declarations.converters.mqsc.queues import cap, is_capped, queue_of, reason
from broker.declarations.converters.mqsc.script import MqscObject, Script
from broker.declarations.converters.mqsc.shipped import says_nothing
from broker.declarations.kinds import ADDRESS, QUEUE
from broker.errors.messages import InvalidSelector
from broker.formats.inventory import Path
from broker.formats.selectors.parsing import parse

MODELS = {"MDURMDL": "durable_model", "MNDURMDL": "nondurable_model"}
WILDCARDS = ("#", "+", "*", "?")


def make_topic(script: Script, found: Converted, one: MqscObject) -> None:
    parts = found.parts
    string = one.text("TOPICSTR")
    if not string:
        why = "it needs TOPICSTR, and runmqsc refuses it, too."
        parts.name(why, *one.sources, *(said.path for said in one.attributes.values()))
        return
    values = found.of(ADDRESS, string, source=one.head)
    parts.take(*one.sources, one.attributes["TOPICSTR"].path)
    defaults = ADDRESS.defaults((string,))
    for key, said in one.attributes.items():
        attribute = MODELS.get(key, "")
        if attribute and said.text in ("", defaults[attribute]):
            parts.default(said.path)
        elif attribute:
            found.set(values, attribute, said.text, said.path)
        elif says_nothing("TOPIC", key, said.text):
            parts.default(said.path)
        elif key != "TOPICSTR" and not is_capped(key, said.text):
            parts.name(reason(key), said.path)
    cap(found, one, string)
    if script.find("QLOCAL", string):
        why = (
            "there is a queue of this name, too, and it has this address: here it gets"
            " what is put to the topic. Rename one."
        )
        parts.name(why, one.attributes["TOPICSTR"].path)


def make_subscription(script: Script, found: Converted, one: MqscObject) -> None:
    parts = found.parts
    for key, said in one.attributes.items():
        if key in ("TOPICSTR", "TOPICOBJ", "DEST", "SELECTOR") and said.text:
            continue
        if says_nothing("SUB", key, said.text) or not said.text:
            parts.default(said.path)
        else:
            parts.name(reason(key), said.path)
    topic, queue = topic_of(script, one), queue_of(script, one)
    why = not_made(script, found, one, topic, queue)
    paths = [
        one.attributes[key].path
        for key in ("TOPICSTR", "TOPICOBJ", "DEST")
        if one.text(key)
    ]
    if why:
        selector = [one.attributes["SELECTOR"].path] if one.text("SELECTOR") else []
        parts.name(why, *one.sources, *paths, *selector)
        return
    defined = script.find("QLOCAL", queue)
    values = found.of(QUEUE, queue, source=one.head)
    parts.take(*one.sources)
    found.set(values, "address", topic, *paths)
    values["routing_type"] = "multicast"
    if one.text("SELECTOR"):
        select(found, values, one)
    if defined is not None and queue != topic:
        note_address(found, defined, queue, topic, one.attributes["DEST"].path)


def topic_of(script: Script, one: MqscObject) -> str:
    """The topic string of a subscription: that of its topic object, and its own after
    it; empty: it is not known.

    Source:
        IBM MQ, "Combining topic strings".
    """
    name, string = one.text("TOPICOBJ"), one.text("TOPICSTR")
    if not name:
        return string
    topic = script.find("TOPIC", name)
    begin = topic.text("TOPICSTR") if topic else ""
    return "/".join(filter(None, (begin, string))) if begin else ""


def not_made(
    script: Script, found: Converted, one: MqscObject, topic: str, queue: str
) -> str:
    """Why a subscription cannot be a queue of an address; empty: it can."""
    managed = one.text("DESTCLAS") == "MANAGED" or not queue
    before = found.objects.get((QUEUE, (queue,)), {})
    wild = any(sign in topic.split("/") for sign in WILDCARDS)
    reasons = {
        "its queue has no name there. Its client subscribes again, by the name of the"
        " subscription; or make a queue with `address`, the topic's string.": managed,
        f"the topic {one.text('TOPICOBJ')} is not defined in this file, so its string"
        f" is not known: `backout queue alter {queue} --address STRING --routing-type"
        " multicast --yes`.": not topic,
        "it has many topics, and a queue has one address: make a queue of each"
        " address.": wild,
        words.GROUPS_OF_KINDS["QREMOTE"]: script.find("QREMOTE", queue) is not None,
        f"another subscription feeds {queue} already, and a queue has one address and"
        " one selector. Make another"
        " queue.": before.get("routing_type") == "multicast",
    }
    return next((why for why, applies in reasons.items() if applies), "")


def select(found: Converted, values: dict[str, object], one: MqscObject) -> None:
    said = one.attributes["SELECTOR"]
    try:
        parse(said.text)
    except InvalidSelector as error:
        found.parts.name(f"the queue has no selector. {error}", said.path)
    else:
        found.set(values, "selector", said.text, said.path)


def note_address(
    found: Converted, queue: MqscObject, name: str, topic: str, path: Path
) -> None:
    """Add a comment on the change for programs that put to the queue by its own
    name."""
    found.parts.name(
        f"a queue has one address, and {name} has {topic}: what programs put to {name}"
        " goes to all queues of that address. If they do, give them another queue.",
        path,
    )
