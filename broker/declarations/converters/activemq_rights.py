"""Authorization entries of ActiveMQ Classic as authorities, which an operator grants.

Source:
    ActiveMQ Classic, "Security": a user may do what any of the entries that match
    allows, as here.
"""

from __future__ import annotations

from broker.config.xml_tree import Element
from broker.declarations.converters import activemq_elements as elements
from broker.declarations.converters.activemq_names import destinations
from broker.declarations.converters.converted import Converted

MAY = {"read": ["get", "browse", "inquire"], "write": ["put"]}


def convert_authorization(plugin: Element, found: Converted) -> None:
    for entry in plugin.everything():
        if entry.name == "authorizationEntry":
            convert_entry(entry, found)
        elif entry.name == "tempDestinationAuthorizationEntry":
            found.parts.name(elements.TEMPORARY, entry.path)
        elif entry.name in elements.MAPS and entry is not plugin:
            found.parts.name(elements.DIRECTORY, entry.path)


def convert_entry(entry: Element, found: Converted) -> None:
    targets = list(destinations(entry, found, is_plain=True))
    if not targets:
        found.parts.name(elements.NO_DESTINATION, entry.path)
    for name, text in entry.attributes.items():
        path = entry.at(name)
        if name in elements.RIGHTS:
            found.parts.name(elements.RIGHTS[name], path)
        for target in targets if name in MAY else []:
            for role in (one.strip() for one in text.split(",")):
                if role:
                    sources = [path, target.source]
                    found.grant(f"group:{role}", target.pattern, MAY[name], *sources)
