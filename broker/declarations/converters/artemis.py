"""The ``broker.xml`` of ActiveMQ Artemis: addresses, queues and address settings.

A file of Artemis 1 is read, too, with its queues under ``<jms>`` and ``<queues>``, and
so is the part of a file that another includes.

Source:
    ActiveMQ Artemis manual, "Address Model", "Address Settings" and "Authentication &
    Authorization"; artemis-configuration.xsd; FileConfigurationParser, which reads the
    first part of each name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.config import artemis_patterns
from broker.config.artemis_xml import settings_of
from broker.config.documents import defined
from broker.config.xml_tree import Element, parsed
from broker.declarations.converters import artemis_queues, artemis_rights
from broker.declarations.converters.artemis_core import EACH, convert_core
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import begun
from broker.declarations.kinds import SETTING
from broker.formats.wildcards import Syntax, configured

Reader = Callable[[Element, Syntax, Converted], None]
OLD = ("jms.queue.", "jms.topic.")  # prefixes of Artemis 1
SHORT = (
    "JMS programs of Artemis 1 call it by the name without jms.queue. or jms.topic.;"
    " here they use all of it. To have the short names, take the prefixes off"
    " everywhere in the file, and convert it again."
)


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: it is no XML, or declares entities.
    """
    root = parsed(text)
    found = begun(root, EMPTY)
    syntax = tell_syntax(root, found)
    for name, read in READERS.items():
        first = next(root.named(name), None)
        if first is not None:
            read(first, syntax, found)
    core = next(root.named("core"), None)
    if core is not None:
        convert_core(core, READERS, found)
    return found


def tell_syntax(root: Element, found: Converted) -> Syntax:
    """The wildcards of the file; a comment names the Django settings that must be set
    to them."""
    syntax, told = artemis_patterns.syntax_of(root)
    ours = artemis_patterns.settings_of(configured()).values()
    for path, setting in told.items():
        if setting in ours:
            found.parts.default(path)
        else:
            found.parts.name(f"Before you apply this file, set {setting}.", path)
    return syntax


def convert_settings(group: Element, syntax: Syntax, found: Converted) -> None:
    for one in settings_of(group, syntax):
        if one.setting is not None:
            values = found.of(SETTING, one.match, source=one.taken[0])
            values.update(defined(one.setting))
        found.parts.take(*one.taken)
        found.parts.default(*one.same)
        for element, why in one.left:
            found.parts.name(why, element.path)


def convert_jms(jms: Element, _: Syntax, found: Converted) -> None:
    prefixes = OLD if is_old(found) else ("", "")
    for one in jms.children:
        if one.name in JMS:
            prefix = prefixes[one.name == "topic"]
            JMS[one.name](one, prefix, found)
            if prefix and "name" in one.attributes:
                found.parts.name(SHORT, one.at("name"))


def is_old(found: Converted) -> bool:
    """Whether the core parts of a file use the names of Artemis 1."""
    keys = [key for _, (key, *_) in found.objects]
    values = [one for each in found.objects.values() for one in each.values()]
    return any(str(one).startswith(OLD) for one in keys + values)


JMS = {
    "queue": artemis_queues.convert_jms_queue,
    "topic": artemis_queues.convert_topic,
}
READERS: Mapping[str, Reader] = {  # sections are read in this order
    "addresses": artemis_queues.convert_addresses,
    "queues": artemis_queues.convert_core_queues,
    "address-settings": convert_settings,
    "security-settings": artemis_rights.convert_rights,
    "jms": convert_jms,
}
EMPTY = {  # elements that mean nothing if they are empty
    *("configuration", "core", "acceptors", "connectors", "broker-connections"),
    *READERS,
    *EACH,
}
