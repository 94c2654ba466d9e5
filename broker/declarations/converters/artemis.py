"""The ``broker.xml`` of ActiveMQ Artemis: addresses, queues and address settings.

Source:
    ActiveMQ Artemis manual, "Address Model", "Address Settings" and "Authentication &
    Authorization"; artemis-configuration.xsd.
"""

from __future__ import annotations

from collections import defaultdict

from broker.config.artemis_xml import Element, parsed, read_one
from broker.config.documents import LeftOut, defined
from broker.declarations.converters.converted import Converted
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.errors.settings import WrongSettings

MAY = {"send": ["put"], "consume": ["get", "inquire"], "browse": ["browse", "inquire"]}
ELSEWHERE = {  # parts of a broker.xml that say what happens to messages
    "diverts": "Diverts: bind a second queue to the address, with a selector.",
    "bridges": "Core bridges: make them links of a bridge (docs/bridges.md).",
    "federations": "Federation: make it links of bridges (docs/bridges.md).",
    "cluster-connections": "Cluster connections: all processes share one database.",
}
QUEUE_KEEPS = {"name", "filter", "durable"}


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: it is no XML.
    """
    root, found = parsed(text), Converted()
    for group in root.named("addresses"):
        for address in group.children:
            if address.name == "address":
                convert_address(address, found)
    convert_settings(root, found)
    for one in root.named("security-setting"):
        convert_rights(one, found)
    for name, sentence in ELSEWHERE.items():
        if any(one.children for one in root.named(name)):
            found.notes.append(sentence)
    return found


def convert_address(address: Element, found: Converted) -> None:
    name = address.attributes.get("name", "")
    found.of(ADDRESS, name)
    for routing in address.children:
        for queue in routing.children if routing.name != "queue" else [routing]:
            if queue.name == "queue":
                convert_queue(queue, name, routing.name, found)


def convert_queue(queue: Element, address: str, routing: str, found: Converted) -> None:
    name = queue.attributes.get("name", "")
    values = found.of(QUEUE, name)
    values["address"] = address
    values["routing_type"] = "multicast" if routing == "multicast" else "anycast"
    for part in queue.children:
        if part.name == "filter":
            found.select(values, part.attributes.get("string", ""), f"Queue {name}")
        elif part.name == "durable" and part.text == "false":
            found.notes.append(f"Queue {name} is not durable there; it is here.")
        elif part.name not in QUEUE_KEEPS:
            found.notes.append(f"Queue {name}: <{part.name}> is left out.")
    for attribute in sorted(queue.attributes.keys() - QUEUE_KEEPS):
        found.notes.append(f"Queue {name}: {attribute} is left out.")


def convert_settings(root: Element, found: Converted) -> None:
    left_out: list[LeftOut] = []
    for one in root.named("address-setting"):
        try:
            setting = read_one(one, left_out)
        except WrongSettings as error:
            found.notes.append(f"Address setting left out, {error}")
            continue
        found.of(SETTING, setting.match).update(defined(setting))
    lines: dict[str, list[str]] = defaultdict(list)
    for part in left_out:
        lines[part.what].append(part.match)
    for what, matches in lines.items():
        where = ", ".join(dict.fromkeys(matches))
        found.notes.append(f"Address settings of {where}: <{what}> is left out.")


def convert_rights(setting: Element, found: Converted) -> None:
    pattern = setting.attributes.get("match", "#")
    may: dict[str, list[str]] = defaultdict(list)
    for permission in setting.named("permission"):
        granted = MAY.get(permission.attributes.get("type", ""), [])
        for role in permission.attributes.get("roles", "").split(","):
            may[role.strip()] += granted
    for role, granted in may.items():
        if role and granted:
            found.grant(f"group:{role}", pattern, granted)
