"""Validation rules for all parts of a bridge. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from django.core.exceptions import ValidationError

from broker.bridges.providers import registry
from broker.bridges.providers.interface import Capability
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)

Part = Bridge | ConnectionFactory | BridgeDestination | DeadMessageQueue | Link

# Names of properties that may hold a password.
SECRET = re.compile(r"passw|secret|token|credential", re.I)
OURS = "backout."  # prefix of this broker's properties in documents
# Characters that XML cannot hold, and some that PostgreSQL cannot hold.
UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class FieldFault(NamedTuple):
    """A fault of one field."""

    field: str  # the model's field; empty if the fault concerns the whole object
    sentence: str


def fields_wrong(part: Part) -> Iterator[FieldFault]:
    """Faults: values out of range, reserved names, characters that cannot be stored."""
    relations = [one.name for one in part._meta.fields if one.is_relation]
    try:
        part.clean_fields(exclude=relations)
    except ValidationError as error:
        for name, sentences in error.message_dict.items():
            yield from (FieldFault(name, one) for one in sentences)
    for column in part._meta.fields:
        value = getattr(part, column.attname)
        if isinstance(value, str) and UNSEEN.search(value):
            yield FieldFault(
                column.name,
                "It has a control character, which a document cannot contain. Remove"
                " it.",
            )


def of_reference(part: Link | DeadMessageQueue, name: str) -> Iterator[FieldFault]:
    """Faults of a reference: it is missing, or refers to a part of another bridge."""
    field = part._meta.get_field(name)
    found = getattr(part, name, None)
    if found is None:
        if not field.null:
            words = "connection factory" if "factory" in name else "destination"
            yield FieldFault(name, f"Choose a {words}.")
    elif found.bridge != getattr(part, "bridge", None):
        yield FieldFault(
            name,
            f"{str(found)!r} belongs to another bridge. Choose one that belongs to"
            " this bridge.",
        )


def of_topic(
    field: str, factory: ConnectionFactory, destination: BridgeDestination
) -> Iterator[FieldFault]:
    found = registry.PROVIDERS.get(factory.provider)
    is_topic = destination.kind == BridgeDestination.Kind.TOPIC
    if found and is_topic and Capability.TOPICS not in found.capabilities:
        yield FieldFault(
            field,
            f"{destination.name!r} is a topic, but the provider {found.label} supports"
            " queues only. Choose a queue.",
        )


def of_properties(properties: object, *, secret: bool = False) -> Iterator[FieldFault]:
    """Faults of properties, which must be texts that a document can hold.

    Args:
        secret: whether passwords are forbidden here, because there is a separate field
            for the password.
    """
    if not isinstance(properties, dict) or not all(
        map(is_valid_property, properties.items())
    ):
        yield FieldFault(
            "properties", 'Properties must map names to texts: {"name": "text"}.'
        )
        return
    for name in properties:
        if name.startswith(OURS):
            yield FieldFault(
                "properties",
                f"{name!r}: names that begin with {OURS!r} are reserved. Use another"
                " name.",
            )
        elif secret and SECRET.search(name):
            yield FieldFault(
                "properties",
                f"{name!r} would not be secret: properties are not encrypted. Set the"
                " password of the connection factory instead.",
            )


def is_valid_property(pair: tuple[object, object]) -> bool:
    name, value = pair
    texts = isinstance(name, str) and isinstance(value, str)
    return texts and bool(name) and not UNSEEN.search(f"{name}{value}")


def is_same(
    factory: ConnectionFactory,
    destination: BridgeDestination,
    other_factory: ConnectionFactory,
    other: BridgeDestination,
) -> bool:
    """Whether two destinations are the same queue or topic."""
    reached = (
        (factory.provider, factory.url),
        (other_factory.provider, other_factory.url),
    )
    named = (destination.kind, destination.name), (other.kind, other.name)
    return reached[0] == reached[1] and named[0] == named[1]
