"""Read a bridge from Open MQ's configuration XML for JMS bridges.

A document with an unknown part is refused, with the place and what to do. Values that
only Java could resolve (a JNDI lookup, the address of another Open MQ) are listed in
the result, and the links that need them are disabled.

Source:
    Open MQ, ``sun_jmsbridge_1_0.dtd``; Administration Guide, "Bridge Services".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from broker.bridges import secrets
from broker.bridges.config.documents import Document, LeftOpen, name_of
from broker.bridges.config.faults import SECRET, Part, fields_wrong
from broker.bridges.config.jmsbridge_elements import (
    described,
    look_at,
    named,
    others,
    properties,
    values,
)
from broker.bridges.config.jmsbridge_table import (
    ADDRESS,
    ATTRIBUTES,
    DESCRIPTION_OF_BRIDGE,
    SEALED,
    column_of,
)
from broker.bridges.providers.registry import HERE
from broker.config.xml_tree import Element, parsed
from broker.errors.bridges import SecretsLost
from broker.errors.settings import WrongSettings
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.models.bridge_names import AS_SOURCE

LOGIN = ("imqDefaultUsername", "imqDefaultPassword")  # properties of Open MQ


@dataclass(slots=True)
class Reading:
    """The parts of the document read so far."""

    document: Document
    factories: dict[str, ConnectionFactory] = field(default_factory=dict)
    destinations: dict[str, BridgeDestination] = field(default_factory=dict)

    def open(self, element: Element, what: str) -> None:
        self.document.left_open.append(LeftOpen(element.where, what))


def read(text: str | bytes) -> Document:
    """Read a document; nothing is stored.

    Raises:
        WrongSettings: the text is not such a document, or it has a fault.
    """
    root = parsed(text, names_type=True)
    if root.name != "jmsbridge":
        raise WrongSettings(
            root.where, "This is not a bridge document: its root must be <jmsbridge>."
        )
    look_at(root)
    bridge = Bridge(**values(root))
    if DESCRIPTION_OF_BRIDGE in root.instructions:
        bridge.description = described(root)
    checked(bridge, root)
    reading = Reading(Document(bridge))
    tell_instructions(reading, root)
    for one in named(root, "connection-factory"):
        add(reading.factories, factory(reading, one), one)
    for one in named(root, "destination"):
        add(reading.destinations, destination(reading, one), one)
    links: dict[str, Link] = {}
    for one in named(root, "link"):
        add(links, link(reading, one), one)
    queues: dict[str, DeadMessageQueue] = {}
    for one in named(root, "dmq"):
        add(queues, dead_queue(reading, one, len(queues)), one)
    found = reading.document
    found.factories = list(reading.factories.values())
    found.destinations = list(reading.destinations.values())
    found.links, found.dead_queues = list(links.values()), list(queues.values())
    return found


def tell_instructions(reading: Reading, root: Element) -> None:
    """Name the processing instructions that are for other programs."""
    for element in root.everything():
        for target in element.instructions:
            if element is not root or target != DESCRIPTION_OF_BRIDGE:
                reading.open(element, f"<?{target}?> is left out: it is not for us.")


def factory(reading: Reading, element: Element) -> ConnectionFactory:
    made = ConnectionFactory(bridge=reading.document.bridge, **values(element))
    given = properties(element)
    made.properties = others(element)
    username, password = (made.properties.pop(name, "") for name in LOGIN)
    tell_login(reading, element, username, password)
    made.username = made.username or username
    password = element.attributes.get("password") or password
    made.secret = sealed(element, given.get(SEALED, "")) or secrets.encrypt(password)
    drop_secrets(reading, made, element)
    if "backout.provider" not in given:
        elsewhere = made.lookup_name or ADDRESS in made.properties
        made.provider = "" if elsewhere else HERE
    if not made.provider:
        reading.open(
            element,
            f"Choose the provider of {made.name!r}, and enter its URL. Until then the"
            " links that need it are disabled.",
        )
    if made.username and not made.secret:
        reading.open(
            element,
            f"Enter the password of {made.name!r}, unless it is stored already.",
        )
    checked(made, element)
    return made


def tell_login(
    reading: Reading, element: Element, username: str, password: str
) -> None:
    """Name a login in the properties that is not that of the attributes, which count
    in Open MQ."""
    rows = zip(LOGIN, ("username", "password"), (username, password), strict=True)
    for name, attribute, other in rows:
        if other and element.attributes.get(attribute, other) not in ("", other):
            why = f"{name} is left out: the attribute {attribute} says another."
            reading.open(element, why)


def sealed(element: Element, secret: str) -> str:
    """An encrypted password, after a check that it can be decrypted.

    Raises:
        WrongSettings: it cannot be decrypted.
    """
    try:
        secrets.decrypt(secret, factory="")
    except SecretsLost:
        why = "Its password was encrypted elsewhere. Give it as the attribute password."
        raise WrongSettings(element.where, why) from None
    return secret


def drop_secrets(
    reading: Reading, made: ConnectionFactory | BridgeDestination, element: Element
) -> None:
    """Remove properties that would show a password; this broker does not need them."""
    for name in [one for one in made.properties if SECRET.search(one)]:
        del made.properties[name]
        reading.open(
            element,
            f"The property {name!r} is removed, because properties are not secret. If"
            " it is the password, enter it as the password.",
        )


def destination(reading: Reading, element: Element) -> BridgeDestination:
    made = BridgeDestination(bridge=reading.document.bridge, **values(element))
    made.properties = others(element)
    drop_secrets(reading, made, element)
    if not made.name and not made.lookup_name:
        raise WrongSettings(element.where, "It needs a name, or a lookup-name.")
    if not made.name:
        reading.open(
            element,
            f"Enter the name of {made.ref_name!r} at its provider: JNDI names are not"
            " looked up. Until then the links that need it are disabled.",
        )
    checked(made, element)
    return made


def link(reading: Reading, element: Element) -> Link:
    ends = [one for name in ("source", "target") for one in named(element, name)]
    if [one.name for one in ends] != ["source", "target"]:
        raise WrongSettings(element.where, "It needs one <source> and one <target>.")
    made = Link(bridge=reading.document.bridge, **values(element))
    for end in ends:
        for column, found in {**values(end), **references(reading, end)}.items():
            setattr(made, column, found)
    made.properties = others(ends[1])
    if made.durable_name and made.source.kind != BridgeDestination.Kind.TOPIC:
        made.durable_name = ""
        reading.open(
            ends[0], "It is a queue: durable-sub has no effect and is removed."
        )
    parts: Iterable[Any] = (
        *(made.source_factory.provider, made.target_factory.provider),
        *(made.source.name, made.target is None or made.target.name),
    )
    if not all(parts):
        made.enabled = False
    checked(made, element)
    return made


def dead_queue(reading: Reading, element: Element, position: int) -> DeadMessageQueue:
    made = DeadMessageQueue(
        bridge=reading.document.bridge,
        position=position,
        **values(element),
        **references(reading, element),
    )
    made.properties = others(element)
    if not made.factory.provider or not made.destination.name:
        made.enabled = False
    checked(made, element)
    return made


def references(reading: Reading, element: Element) -> dict[str, Any]:
    """The parts that an element refers to, by field.

    Raises:
        WrongSettings: the document does not have such a part.
    """
    found: dict[str, Any] = {}
    for name, column in ATTRIBUTES[element.name].items():
        if not column_of(element.name, column).is_relation:
            continue
        said = element.attributes[name]
        is_factory = name == "connection-factory-ref"
        known = reading.factories if is_factory else reading.destinations
        if element.name == "target" and not is_factory and said == AS_SOURCE:
            found[column] = None
        elif said in known:
            found[column] = known[said]
        else:
            kind = "connection-factory" if is_factory else "destination"
            raise WrongSettings(
                element.where,
                f"{name} names {said!r}, and there is no <{kind}> with that ref-name.",
            )
    return found


def checked(part: Part, element: Element) -> None:
    """A part, after a check of its fields.

    Raises:
        WrongSettings: a value is out of its range, or a name is reserved.
    """
    left_open = {"provider"}
    if isinstance(part, BridgeDestination) and part.lookup_name:
        left_open.add("name")
    for one in fields_wrong(part):
        if one.field not in left_open:
            raise WrongSettings(element.where, one.sentence)


def add(known: dict[str, Any], part: Part, element: Element) -> None:
    name = name_of(part)
    if name in known:
        raise WrongSettings(
            element.where, f"There is a <{element.name}> {name!r} already."
        )
    known[name] = part
