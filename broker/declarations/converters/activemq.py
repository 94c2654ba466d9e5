"""The ``activemq.xml`` of ActiveMQ Classic: destinations, policies, redelivery, rights.

A queue becomes a queue of an address of its own name, and a topic an address. A queue
that a virtual topic feeds becomes a queue of that topic. Policies become address
settings.

Source:
    ActiveMQ Classic, "Xml Configuration", "Configure Startup Destinations", "Virtual
    Destinations", "Per Destination Policies", "Message Redelivery and DLQ Handling",
    "Security"; its classes BrokerService and VirtualTopic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker.config.xml_tree import Element, parsed
from broker.declarations.converters import activemq_elements as elements
from broker.declarations.converters import activemq_policies, activemq_redelivery
from broker.declarations.converters.activemq_names import VIRTUAL, each_name, pattern
from broker.declarations.converters.activemq_rights import convert_authorization
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import begun, fault_of_name, sort_out
from broker.declarations.kinds import ADDRESS, QUEUE
from broker.errors.settings import WrongSettings
from broker.formats.wildcards import matches


@dataclass(frozen=True, slots=True)
class VirtualTopic:
    """Topics whose messages go to the queues of their names with a prefix."""

    names: str  # pattern of the names of the topics
    prefix: str = "Consumer.*."

    def topic_of(self, queue: str) -> str:
        """The topic that feeds a queue; empty: none of these."""
        words, ahead = queue.split("."), self.prefix.rstrip(".").split(".")
        first, rest = words[: len(ahead)], ".".join(words[len(ahead) :])
        fits = len(first) == len(ahead) and all(
            one in ("*", word) for one, word in zip(ahead, first, strict=True)
        )
        return rest if fits and rest and matches(self.names, rest) else ""


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: it is no XML, or has no ``<broker>``.
    """
    root = parsed(text, names_type=True)
    found = begun(root, elements.EMPTY)
    brokers = list(root.named("broker"))
    if not brokers:
        raise WrongSettings(root.where, "There is no <broker> in it.")
    if brokers[0].first("server") is not None:
        why = "This is a bootstrap.xml of Artemis. Convert the broker.xml beside it."
        raise WrongSettings(root.where, why)
    for other in brokers[1:]:
        found.parts.name(elements.ANOTHER, other.path)
    convert_broker(brokers[0], found)
    for one in root.children:
        if one.name in elements.SPRING and one not in brokers:
            found.parts.name(elements.SPRING[one.name], one.path)
    return found


def convert_broker(broker: Element, found: Converted) -> None:
    virtual = virtual_topics(broker)
    for one in broker.children:
        if one.name == "destinations":
            convert_destinations(one, virtual, found)
    for name, text in broker.attributes.items():
        sort_out(elements.BROKER, name, text, broker.at(name), found)
    for one in broker.children:
        if one.name in SECTIONS:
            SECTIONS[one.name](one, found)
        elif one.name != "destinations":
            sort_out(elements.SECTIONS, one.name, one.text, one.path, found)


def virtual_topics(broker: Element) -> list[VirtualTopic]:
    """The virtual topics of a file, or ActiveMQ's default if the file has no
    interceptors."""
    if broker.attributes.get("useVirtualTopics") == "false":
        return []
    if broker.first("destinationInterceptors") is None:
        return [VirtualTopic(pattern(VIRTUAL))]
    found = []
    for one in broker.named("virtualTopic"):
        try:
            names = pattern(one.attributes.get("name", VIRTUAL))
        except ValueError:
            continue
        found.append(VirtualTopic(names, one.attributes.get("prefix", "Consumer.*.")))
    return found


def convert_destinations(
    group: Element, virtual: list[VirtualTopic], found: Converted
) -> None:
    for one in group.children:
        if one.name not in ("queue", "topic"):
            continue
        for name in each_name(one.attributes.get("physicalName", "")) or [""]:
            if why := fault_of_name(name):
                found.parts.name(f"{why} It is left out.", one.path)
            elif one.name == "topic":
                make_topic(one, name, found)
            else:
                make_queue(one, name, virtual, found)


def make_topic(topic: Element, name: str, found: Converted) -> None:
    if (QUEUE, (name,)) in found.objects:
        found.parts.name(elements.BOTH, topic.path)
    found.of(ADDRESS, name, source=topic.at("physicalName"))


def make_queue(
    queue: Element, name: str, virtual: list[VirtualTopic], found: Converted
) -> None:
    source = queue.at("physicalName")
    if (ADDRESS, (name,)) in found.objects:
        found.parts.name(elements.BOTH, queue.path)
    fed_by = next((topic for one in virtual if (topic := one.topic_of(name))), "")
    found.of(ADDRESS, fed_by or name, source=source)
    values = found.of(QUEUE, name, source=source)
    values["address"] = fed_by or name
    values["routing_type"] = "multicast" if fed_by else "anycast"


def convert_interceptors(group: Element, found: Converted) -> None:
    for one in group.everything():
        if one.name in elements.INTERCEPTORS:
            found.parts.name(elements.INTERCEPTORS[one.name], one.path)


def convert_plugins(group: Element, found: Converted) -> None:
    for one in group.children:
        if one.name in PLUGINS:
            PLUGINS[one.name](one, found)
        else:
            sort_out(elements.PLUGINS, one.name, one.text, one.path, found)


def convert_each(group: Element, found: Converted) -> None:
    for one in group.children:
        found.parts.name(elements.EACH[group.name], one.path)


Reader = Callable[[Element, Converted], None]
PLUGINS: Mapping[str, Reader] = {
    "authorizationPlugin": convert_authorization,
    "redeliveryPlugin": activemq_redelivery.convert_redelivery,
    "timeStampingBrokerPlugin": activemq_redelivery.convert_time_stamping,
}
SECTIONS: Mapping[str, Reader] = {
    "destinationPolicy": activemq_policies.convert_policies,
    "destinationInterceptors": convert_interceptors,
    "plugins": convert_plugins,
    **dict.fromkeys(elements.EACH, convert_each),
}
