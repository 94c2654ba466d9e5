"""Redelivery by the broker, and times of messages, of ActiveMQ Classic.

Source:
    ActiveMQ Classic, "Message Redelivery and DLQ Handling", "TimeStampPlugin"; its
    classes RedeliveryPlugin, RedeliveryPolicy, TimeStampingBrokerPlugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from broker.config import placeholders
from broker.config.xml_tree import Element, value_of
from broker.declarations.converters import activemq_elements as elements
from broker.declarations.converters.activemq_names import PolicyTarget, destinations
from broker.declarations.converters.activemq_policies import add
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import sort_out

COLLISION = 0.15  # ActiveMQ's default of collisionAvoidanceFactor
BACK_OFF = 5.0  # ActiveMQ's default of backOffMultiplier


class PolicyField(NamedTuple):
    """The field of an address setting that corresponds to an attribute of ActiveMQ."""

    name: str
    type: type
    value: Callable[[Any], Any]


REDELIVERY: Mapping[str, PolicyField] = {
    "maximumRedeliveries": PolicyField(
        "max_delivery_attempts", int, lambda most: -1 if most < 0 else most + 1
    ),
    "redeliveryDelay": PolicyField("redelivery_delay_ms", int, int),
    "initialRedeliveryDelay": PolicyField("redelivery_delay_ms", int, int),
    "backOffMultiplier": PolicyField("redelivery_delay_multiplier", float, float),
    "maximumRedeliveryDelay": PolicyField("max_redelivery_delay_ms", int, int),
    "collisionAvoidancePercent": PolicyField(
        "redelivery_collision_avoidance_factor", float, lambda one: one / 100
    ),
}
TIMES: Mapping[str, PolicyField] = {
    "zeroExpirationOverride": PolicyField("expiry_delay_ms", int, int),
    "ttlCeiling": PolicyField("max_expiry_delay_ms", int, int),
}
WITHOUT_EXPIRY = (
    "Here it is also the expiry of messages that have none, unless expiry_delay says"
    " another."
)
OF_CLIENTS = (
    "Clients redeliver by themselves there, before the broker does; here the broker"
    " alone counts and waits."
)
UNUSED = "There, it has no effect without {}."


def convert_redelivery(plugin: Element, found: Converted) -> None:
    for name, text in plugin.attributes.items():
        sort_out(elements.REDELIVERY, name, text, plugin.at(name), found)
    for group in plugin.everything():
        for policy in group.children:
            if policy.name == "redeliveryPolicy":
                targets = list(destinations(policy, found))
                if group.name == "defaultEntry":
                    path = next(policy.parts())
                    targets = [PolicyTarget("#", is_topic=False, source=path)]
                convert_policy(policy, targets, found)


def convert_policy(
    policy: Element, targets: Sequence[PolicyTarget], found: Converted
) -> None:
    used = dict(used_of(policy, found))
    for target in targets:
        for name, field in used.items():
            keep(policy, name, field, target, found)
    if used and not targets:
        found.parts.name(elements.NO_DESTINATION, policy.path)
    elif "maximumRedeliveries" in used:
        found.parts.name(OF_CLIENTS, policy.at("maximumRedeliveries"))


def used_of(policy: Element, found: Converted) -> Iterator[tuple[str, PolicyField]]:
    """The attributes that have an effect; comments name the others."""
    given = policy.attributes
    grows = given.get("useExponentialBackOff") == "true"
    spreads = given.get("useCollisionAvoidance") == "true"
    first = "initialRedeliveryDelay" if grows else "redeliveryDelay"
    other = "redeliveryDelay" if grows else "initialRedeliveryDelay"
    without = {
        **dict.fromkeys(["backOffMultiplier", "maximumRedeliveryDelay"], grows),
        "collisionAvoidancePercent": spreads,
        other: first not in given,
    }
    for name, text in given.items():
        if name in REDELIVERY and without.get(name, True):
            yield name, REDELIVERY[name]
        elif name == other:
            found.parts.name(elements.ONE_DELAY, policy.at(name))
        elif name in REDELIVERY:
            switch = (
                "useCollisionAvoidance" if "oll" in name else "useExponentialBackOff"
            )
            found.parts.name(UNUSED.format(switch), policy.at(name))
        else:
            yield from switch_of(policy, name, text, found)


def switch_of(
    policy: Element, name: str, text: str, found: Converted
) -> Iterator[tuple[str, PolicyField]]:
    """The field for a switch that is on, if the attribute with its value is missing."""
    switches = {
        "useExponentialBackOff": ("backOffMultiplier", BACK_OFF),
        "useCollisionAvoidance": ("collisionAvoidancePercent", COLLISION),
    }
    if name in ("queue", "topic"):
        return
    if name not in switches:
        sort_out(elements.REDELIVERY, name, text, policy.at(name), found)
        return
    of, default = switches[name]
    if text == "true" and of not in policy.attributes:
        yield name, PolicyField(REDELIVERY[of].name, bool, lambda _: default)
    elif text in ("true", "false"):
        # The switch adds nothing: the attribute with the value decides.
        found.parts.default(policy.at(name))


def keep(
    element: Element,
    name: str,
    field: PolicyField,
    target: PolicyTarget,
    found: Converted,
) -> None:
    """Convert an attribute, or name it in a comment."""
    text = element.attributes[name]
    try:
        if placeholders.is_open(text):
            raise ValueError(placeholders.UNKNOWN)
        value = field.value(value_of(field.type, text))
    except ValueError as error:
        found.parts.name(str(error), element.at(name))
    else:
        add(target, {field.name: (value, [element.at(name)])}, found)


def convert_time_stamping(plugin: Element, found: Converted) -> None:
    for name, text in plugin.attributes.items():
        if name in TIMES and text == "0":
            found.parts.default(plugin.at(name))
        elif name in TIMES:
            target = PolicyTarget("#", is_topic=False, source=plugin.at(name))
            keep(plugin, name, TIMES[name], target, found)
        else:
            sort_out(elements.TIME_STAMPING, name, text, plugin.at(name), found)
    if (
        "ttlCeiling" in plugin.attributes
        and "zeroExpirationOverride" not in plugin.attributes
    ):
        found.parts.name(WITHOUT_EXPIRY, plugin.at("ttlCeiling"))
