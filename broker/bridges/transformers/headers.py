"""``headers``: set, rename and remove properties and headers.

    rename.custmer = customer
    remove.password =
    set.region = north
    set.amount:int = 5
    set.JMSType = order.v2
    set.JMSPriority = 7

They are always applied in this order: renames, all at once; then removals; then sets. A
header or property that is missing is skipped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from broker.bridges.messages import changed
from broker.bridges.transformers.registry import Context, transforms
from broker.formats.patches import is_own
from broker.formats.patches.headers import LONGEST_NAME, PROPERTY
from broker.queueing.store import NewMessage

FIELDS = {  # headers that can be changed, and their fields
    "JMSType": "subject",
    "JMSCorrelationID": "correlation_id",
    "JMSReplyTo": "reply_to",
    "JMSXGroupID": "group_id",
    "JMSPriority": "priority",
    "JMSDeliveryMode": "durable",
    "content-type": "content_type",
}
# Headers that every message has.
ALWAYS = {"JMSPriority", "JMSDeliveryMode", "content-type"}
# Bits of the integer types of JMS.
BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
MODES = {"PERSISTENT": True, "NON_PERSISTENT": False}
TRUTHS = {"true": True, "false": False}
TYPES = ("string", "boolean", *BITS, "float", "double")
LONGEST_NUMBER = 1000  # most characters of a number
KEPT = 64  # most cached plans
LOCKED = (
    "IBM MQ headers before the body repeat these fields; they cannot"
    " be changed in one place alone."
)


@dataclass(slots=True)
class Plan:
    """The changes to make to each message."""

    renames: dict[str, str] = field(default_factory=dict)
    removals: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def check(properties: Mapping[str, str]) -> None:
    planned(tuple(properties.items()))


@transforms("headers", check=check, label="Set, rename and remove headers")
def headers(message: NewMessage, context: Context) -> NewMessage:
    """Set, rename and remove headers and properties.

    ``set.NAME``, ``set.NAME:TYPE``, ``rename.OLD`` and ``remove.NAME``.
    """
    if message.headers is not None:
        raise ValueError(LOCKED)
    plan = planned(tuple(context.properties.items()))
    said = {name: getattr(message, column) for name, column in FIELDS.items()}
    properties = dict(message.properties)
    moved: dict[str, Any] = {}
    for old, new in plan.renames.items():
        value = (said if old in FIELDS else properties).pop(old, None)
        if value is not None:
            moved[new] = value
    for name in plan.removals:
        (said if name in FIELDS else properties).pop(name, None)
    for name, value in (moved | plan.values).items():
        if name in FIELDS and name not in ALWAYS and not isinstance(value, str):
            raise ValueError(f"Only text can be {name}, and this is {value!r}.")
        (said if name in FIELDS else properties)[name] = value
    columns = {column: said.get(name) for name, column in FIELDS.items()}
    return changed(message, properties=properties, **columns)


@lru_cache(KEPT)
def planned(pairs: tuple[tuple[str, str], ...]) -> Plan:
    """Parse the properties of a target.

    Raises:
        ValueError: one is invalid, or two contradict each other.
    """
    plan = Plan()
    for key, text in pairs:
        what, _, name = key.partition(".")
        match what:
            case "set" if name:
                name, value = typed(name, text)
                put(plan, name, value)
            case "rename" if name:
                rename(plan, checked(name), checked(text))
            case "remove" if name:
                remove(plan, checked(name), text)
            case _:
                raise ValueError(
                    f"There is no property {key[:64]!r}. Write set.NAME, rename.OLD"
                    " or remove.NAME."
                )
    if not pairs:
        raise ValueError(
            "There is nothing to change. Write a property such as set.NAME."
        )
    check_together(plan)
    return plan


def put(plan: Plan, name: str, value: Any) -> None:
    if name in plan.values:
        raise ValueError(f"{name} is set twice.")
    plan.values[name] = value


def rename(plan: Plan, old: str, new: str) -> None:
    if always := sorted({old, new} & ALWAYS):
        raise ValueError(f"Every message has {always[0]}. Set it instead.")
    if new in plan.renames.values():
        raise ValueError(f"Two properties are renamed to {new}. Remove one.")
    plan.renames[old] = new


def remove(plan: Plan, name: str, text: str) -> None:
    if name in ALWAYS:
        raise ValueError(f"Every message has {name}. Set it instead.")
    if text.strip():
        raise ValueError(f"remove.{name} has a value. Leave it empty.")
    plan.removals.append(name)


def check_together(plan: Plan) -> None:
    """Refuse contradicting changes of the same name."""
    made = plan.values.keys() | plan.renames.values()
    if both := sorted(set(plan.removals) & (made | plan.renames.keys())):
        raise ValueError(f"{both[0]} is removed, and also set or renamed. Keep one.")
    if both := sorted(plan.values.keys() & set(plan.renames.values())):
        raise ValueError(f"{both[0]} is set, and another is renamed to it. Keep one.")


def checked(name: str) -> str:
    """A name, after a check that it may be changed."""
    if name in FIELDS:
        return name
    if name.startswith("JMS") and not name.startswith(("JMSX", "JMS_")):
        offered = ", ".join(FIELDS)
        raise ValueError(f"{name[:64]} cannot be changed. These can: {offered}.")
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(f"{name[:64]!r} cannot be the name of a property.")
    if is_own(PROPERTY + name):
        raise ValueError(f"{name[:64]} is set by the broker only.")
    return name


def typed(name: str, text: str) -> tuple[str, Any]:
    """A name without its type, and the value that the text stands for.

    Raises:
        ValueError: the text is invalid; with the reason.
    """
    name, colon, kind = name.rpartition(":") if ":" in name else (name, "", "string")
    checked(name)
    if name not in FIELDS:
        return name, value_of(kind, text, f"set.{name}{colon}{kind if colon else ''}")
    if colon:
        raise ValueError(f"{name} has a fixed type. Write set.{name}.")
    return name, header_of(name, text)


def header_of(name: str, text: str) -> Any:
    if name == "JMSPriority":
        if len(text) != 1 or text not in "0123456789":
            raise ValueError(f"set.JMSPriority is {text[:64]!r}, and not from 0 to 9.")
        return int(text)
    if name == "JMSDeliveryMode":
        if text not in MODES:
            offered = " or ".join(MODES)
            raise ValueError(f"set.JMSDeliveryMode is {text[:64]!r}. Write {offered}.")
        return MODES[text]
    if name == "content-type" and not text.strip():
        raise ValueError("set.content-type is empty. Write one, such as text/plain.")
    return value_of("string", text, f"set.{name}")


def value_of(kind: str, text: str, where: str) -> Any:
    """The value of a text, by type.

    Args:
        kind: one of ``TYPES``.
        where: the name of the property, for error texts.

    Raises:
        ValueError: there is no such type, or no such value of it.
    """
    try:
        match kind:
            case "string":
                return text_of(text)
            case "boolean":
                return TRUTHS[text]
            case "float" | "double":
                return finite(text)
        return whole(text, BITS[kind])
    except (LookupError, ValueError):
        if kind not in TYPES:
            offered = ", ".join(TYPES)
            raise ValueError(
                f"{where}: there is no type {kind[:64]!r}. There are {offered}."
            ) from None
        raise ValueError(f"{where} is {text[:64]!r}, which is no {kind}.") from None


def text_of(text: str) -> str:
    if "\0" in text:
        raise ValueError
    text.encode()
    return text


def whole(text: str, bits: int) -> int:
    check_digits(text)
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError
    return number


def finite(text: str) -> float:
    check_digits(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def check_digits(text: str) -> None:
    """Refuse forms of numbers that only Python accepts."""
    if "_" in text or not text.isascii() or len(text) > LONGEST_NUMBER:
        raise ValueError
