"""Addresses and queues of a ``broker.xml``.

Source:
    ActiveMQ Artemis manual, "Address Model", "Filter Expressions";
    FileConfigurationParser and FileJMSConfiguration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from broker.config import placeholders
from broker.config.not_here import CONSUMERS, GROUPS, KEEPS_ALL, NotHere, rows
from broker.config.xml_tree import Element
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import fault_of_name, has_name, sort_out
from broker.declarations.kinds import ADDRESS, QUEUE
from broker.errors.messages import InvalidSelector
from broker.formats.inventory import Path
from broker.formats.selectors.parsing import parse
from broker.formats.wildcards import Syntax

ROUTED = ("anycast", "multicast")
# Matches texts in quotes, to skip them, and names that Artemis' own filters have for
# headers of JMS.
CORE = re.compile(r"'(?:[^']|'')*'|\bAMQ[A-Za-z]+\b")
HEADERS = {
    "AMQPriority": "JMSPriority",
    "AMQTimestamp": "JMSTimestamp",
    "AMQExpiration": "JMSExpiration",
}
ATTRIBUTES: Mapping[str, NotHere] = dict([
    *rows(CONSUMERS, ["max-consumers", "delay-before-dispatch"], "-1"),
    *rows(CONSUMERS, ["consumers-before-dispatch"], "0"),
    *rows(CONSUMERS, ["exclusive"], "false"),
    *rows(GROUPS, ["group-rebalance", "group-rebalance-pause-dispatch"], "false"),
    *rows(GROUPS, ["group-buckets"], "-1"),
    *rows(GROUPS, ["group-first-key"]),
    *rows(KEEPS_ALL, ["last-value", "non-destructive"], "false"),
    *rows(KEEPS_ALL, ["purge-on-no-consumers"], "false"),
    *rows(KEEPS_ALL, ["ring-size"], "-1"),
    *rows(KEEPS_ALL, ["last-value-key"]),
    *rows("A queue gets all messages of its address here.", ["enabled"], "true"),
])  # fmt: skip
CHILDREN: Mapping[str, NotHere] = dict([
    *rows("It does not survive a restart there; here it does.", ["durable"], "true"),
    *rows("A queue has no owner here; see docs/rights.md.", ["user"]),
])  # fmt: skip


def convert_addresses(group: Element, _: Syntax, found: Converted) -> None:
    for address in group.children:
        if address.name == "address" and has_name(address, found):
            convert_address(address, found)


def convert_address(address: Element, found: Converted) -> None:
    name = address.attributes["name"]
    found.of(ADDRESS, name, source=address.at("name"))
    for routing in address.children:
        if routing.name not in ROUTED:
            if routing.name == "queue":
                why = "Artemis reads a queue in <anycast> or <multicast> only."
                found.parts.name(why, routing.path)
            continue
        for queue in routing.children:
            if queue.name == "queue" and has_name(queue, found):
                convert_queue(queue, name, routing.name, address.at("name"), found)
        if not (routing.children or routing.attributes):
            tell_routing(address, routing, found)


def tell_routing(address: Element, routing: Element, found: Converted) -> None:
    # Nothing to declare: here, each consumer of the address subscribes.
    if routing.name == "multicast":
        found.parts.default(routing.path)
    elif len(address.children) == 1:
        why = (
            "There, a queue is made when somebody names it. Declare it here: a consumer"
            " of an address without queues subscribes."
        )
        found.parts.name(why, routing.path)
    else:
        why = "An address has no routing type of its own here, but each of its queues."
        found.parts.name(why, routing.path)


def convert_core_queues(group: Element, _: Syntax, found: Converted) -> None:
    """Queues of Artemis 1: each gets a copy of what is sent to its address."""
    for queue in group.children:
        if queue.name == "queue" and has_name(queue, found):
            address = queue.first("address")
            source, name = queue.at("name"), queue.attributes["name"]
            if address is not None and address.text:
                source, name = address.content, address.text
            if why := fault_of_name(name):
                found.parts.name(f"{why} The queue is left out.", queue.path)
                continue
            found.of(ADDRESS, name, source=source)
            convert_queue(queue, name, "multicast", source, found)


def convert_queue(
    queue: Element, address: str, routing: str, source: Path, found: Converted
) -> None:
    """Make a queue; ``source`` is the part that names its address."""
    name = queue.attributes["name"]
    if (QUEUE, (name,)) in found.objects:
        why = f"There is a queue {name} above, and names of queues are unique."
        found.parts.name(why, queue.path)
        return
    values = found.of(QUEUE, name, source=queue.at("name"))
    found.set(values, "address", address, source)
    values["routing_type"] = routing
    for attribute, text in queue.attributes.items():
        if attribute != "name":
            sort_out(ATTRIBUTES, attribute, text, queue.at(attribute), found)
    for part in queue.children:
        if part.name == "filter":
            select(part, values, found, of_core=True)
        elif part.name != "address":
            sort_out(CHILDREN, part.name, part.text, part.path, found)


def convert_jms_queue(queue: Element, prefix: str, found: Converted) -> None:
    if not has_name(queue, found):
        return
    name, source = prefix + queue.attributes["name"], queue.at("name")
    found.of(ADDRESS, name, source=source)
    if (QUEUE, (name,)) in found.objects:
        return
    values = found.of(QUEUE, name, source=source)
    values |= {"address": name, "routing_type": "anycast"}
    for part in queue.children:
        if part.name == "selector":
            select(part, values, found, of_core=False)
        else:
            sort_out(CHILDREN, part.name, part.text, part.path, found)


def convert_topic(topic: Element, prefix: str, found: Converted) -> None:
    if has_name(topic, found):
        found.of(ADDRESS, prefix + topic.attributes["name"], source=topic.at("name"))


def select(
    part: Element, values: dict[str, object], found: Converted, *, of_core: bool
) -> None:
    """Set the selector of a queue, if it can be read here."""
    text = part.attributes.get("string", "").strip()
    path = part.at("string") if "string" in part.attributes else part.path
    if not text:
        found.parts.default(path)
        return
    try:
        selector = CORE.sub(header, text) if of_core else text
        if placeholders.is_open(selector):
            raise ValueError(placeholders.UNKNOWN)
        parse(selector)
    except (InvalidSelector, ValueError) as error:
        why = f"The filter is left out, so the queue gets all messages. {error}"
        found.parts.name(why, path)
    else:
        found.set(values, "selector", selector, path)


def header(match: re.Match[str]) -> str:
    """The header of JMS that an identifier of Artemis is.

    Raises:
        ValueError: there is none.
    """
    word = match[0]
    if word.startswith("'"):
        return word
    if word not in HEADERS:
        raise ValueError(f"There is no header {word} here.")
    return HEADERS[word]
