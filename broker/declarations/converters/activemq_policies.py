"""Policies of ActiveMQ Classic as address settings.

There, one entry decides all of a destination's policy; here, each field is decided by
the most specific setting that has it.

Source:
    ActiveMQ Classic, "Per Destination Policies", "Message Redelivery and DLQ Handling";
    its classes PolicyEntry, IndividualDeadLetterStrategy, SharedDeadLetterStrategy,
    with their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker.config import placeholders
from broker.config.documents import fault_of
from broker.config.xml_tree import Element
from broker.declarations.converters import activemq_elements as elements
from broker.declarations.converters.activemq_names import (
    PolicyTarget,
    destinations,
    each_name,
)
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import sort_out
from broker.declarations.kinds import SETTING
from broker.formats.inventory import Path

Values = dict[str, Any]
# By name: value, and the parts of the file that have it.
Fields = dict[str, tuple[Any, list[Path]]]
SHARED = "ActiveMQ.DLQ"
# Dead letter queues of queues and of topics.
PREFIXES = ("ActiveMQ.DLQ.Queue.", "ActiveMQ.DLQ.Topic.")
DIFFERS = "Another entry of {} says otherwise, and is kept; here they are one setting."
INHERITS = (
    "It has no dead letter strategy, so its dead letters go to ActiveMQ.DLQ there. Here"
    " a field that a setting has not is that of the more general settings, such as #."
)


def convert_policies(group: Element, found: Converted) -> None:
    for entry in group.named("policyEntry"):
        convert_entry(entry, found)


def convert_entry(entry: Element, found: Converted) -> None:
    for name, text in entry.attributes.items():
        if name not in ("queue", "topic"):
            sort_out(elements.POLICY, name, text, entry.at(name), found)
    strategy = None
    for one in entry.children:
        if one.name == "deadLetterStrategy" and one.children:
            strategy = one.children[0]
        else:
            sort_out(elements.POLICY, one.name, one.text, one.path, found)
    targets = list(destinations(entry, found))
    for target in targets:
        convert_strategy(strategy, target, found)
    if not targets:
        found.parts.name(elements.NO_DESTINATION, entry.path)


def convert_strategy(
    one: Element | None, target: PolicyTarget, found: Converted
) -> None:
    if one is None:
        found.parts.name(INHERITS, target.source)
        return
    known = STRATEGIES.get(kind_of(one))
    if known is None or any(part.name == "property" for part in one.children):
        found.parts.name(elements.STRATEGY, one.path)
        return
    try:
        fields = known(one, target)
    except ValueError as error:
        found.parts.name(f"The strategy is left out. {error}", one.path)
        return
    used = {path for _, paths in fields.values() for path in paths}
    for name, text in one.attributes.items():
        if one.at(name) not in used:
            sort_out(elements.DEAD_LETTERS, name, text, one.at(name), found)
    add(target, fields, found)


def kind_of(strategy: Element) -> str:
    """The name of a strategy, also if it is a bean of Spring."""
    name = strategy.attributes.get("class", strategy.name).rpartition(".")[2]
    return name[:1].lower() + name[1:]


def individual(one: Element, target: PolicyTarget) -> Fields:
    """A dead letter queue for each queue: the address of all has the prefix as its
    name."""
    kind = "topic" if target.is_topic else "queue"
    given = [
        part for part in (f"{kind}Prefix", f"{kind}Suffix") if part in one.attributes
    ]
    sources = [one.at(part) for part in given]
    prefix = one.attributes.get(f"{kind}Prefix", PREFIXES[target.is_topic])
    suffix = one.attributes.get(f"{kind}Suffix", "")
    require(prefix + suffix)
    address = prefix.rstrip(".") or suffix.lstrip(".")
    both = {
        "{}_address": address,
        "auto_create_{}_resources": True,
        "{}_queue_prefix": prefix,
        "{}_queue_suffix": suffix,
    }
    return {
        name.format(word): (value, sources + implied_parts(one))
        for word in words(one)
        for name, value in both.items()
    } | no_expired(one)


def shared(one: Element, _: PolicyTarget) -> Fields:
    """One dead letter queue for all."""
    name, sources = SHARED, list[Path]()
    if text := one.attributes.get("deadLetterQueue", ""):
        name, sources = text, [one.at("deadLetterQueue")]
    for part in one.named("deadLetterQueue"):
        for inner in part.children:
            name = inner.attributes.get("physicalName", "")
            sources = [inner.at("physicalName")]
    require(name)
    if name.startswith("#"):
        raise ValueError("Its queue is a bean of Spring. Write its name.")
    queue = each_name(name)[0]
    return {
        f"{word}_address": (queue, sources + implied_parts(one)) for word in words(one)
    } | no_expired(one)


def discarding(one: Element, _: PolicyTarget) -> Fields:
    return {
        f"{word}_address": ("", [one.at("class")] if one.attributes else [one.path])
        for word in ("dead_letter", "expiry")
    }


def words(one: Element) -> tuple[str, ...]:
    """The kinds of messages that a strategy keeps: dead letters, and usually expired
    ones."""
    has_expired = one.attributes.get("processExpired", "true") != "false"
    return ("dead_letter", "expiry") if has_expired else ("dead_letter",)


def no_expired(one: Element) -> Fields:
    """An empty expiry address, if a strategy does not keep expired messages."""
    if len(words(one)) > 1:
        return {}
    return {"expiry_address": ("", [one.at("processExpired")])}


def implied_parts(one: Element) -> list[Path]:
    """The parts of a strategy that say what it does by itself: its name alone, and that
    it takes expired messages."""
    whole = [] if one.attributes or one.children else [one.path]
    has = one.attributes.get("processExpired") == "true"
    return whole + ([one.at("processExpired")] if has else []) + beans(one)


def beans(one: Element) -> list[Path]:
    return [one.at("class")] if "class" in one.attributes else []


def require(name: str) -> None:
    """
    Raises:
        ValueError: a name is empty, or is not known.
    """
    if placeholders.is_open(name):
        raise ValueError(placeholders.UNKNOWN)
    if not name:
        raise ValueError("It has no name.")


def add(target: PolicyTarget, fields: Fields, found: Converted) -> None:
    """Add fields to the setting of a pattern, all of them or none."""
    sources = [path for _, paths in fields.values() for path in paths]
    values = {name: value for name, (value, _) in fields.items()}
    known: Values = found.objects.get((SETTING, (target.pattern,)), {})
    fault = fault_of(target.pattern, {**known, **values})
    if fault is not None:
        found.parts.name(f"It is left out. {fault[1]}", target.source, *sources)
    elif any(known.get(name, value) != value for name, value in values.items()):
        why = DIFFERS.format(target.pattern)
        found.parts.name(why, target.source, *sources)
    else:
        known = found.of(SETTING, target.pattern, source=target.source)
        found.parts.take(*sources)
        known.update(values)


STRATEGIES: Mapping[str, Callable[[Element, PolicyTarget], Fields]] = {
    "individualDeadLetterStrategy": individual,
    "sharedDeadLetterStrategy": shared,
    "discarding": discarding,
    "discardingDeadLetterStrategy": discarding,
}
