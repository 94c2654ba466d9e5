"""Local queues, model queues and alias queues."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from broker.declarations.attributes import write_attribute
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.mqsc import words
from broker.declarations.converters.mqsc.reading import Command
from broker.declarations.converters.mqsc.script import GivenValue, MqscObject, Script
from broker.declarations.converters.mqsc.shipped import (
    ALSO_HERE,
    LIMITS_ALSO_HERE,
    is_shipped,
    says_nothing,
)
from broker.declarations.declaring import literal
from broker.declarations.kinds import ALIAS, MODEL, QUEUE, SETTING
from broker.declarations.object_kind import ObjectKind
from broker.formats.inventory import Inventory, Path

KINDS: Mapping[str, ObjectKind] = {"QLOCAL": QUEUE, "QMODEL": MODEL, "QALIAS": ALIAS}
NUMBERS = {
    "MAXDEPTH": ("max_depth", 999_999_999),
    "MAXMSGL": ("max_message_bytes", 104_857_600),
    "BOTHRESH": ("backout_threshold", 999_999_999),
}
NAMES = {"BOQNAME": "backout_queue", "DESCR": "description"}
FLAGS: Mapping[tuple[str, str], tuple[str, bool]] = {
    ("HARDENBO", "YES"): ("harden_backout", True),
    ("GET", "DISABLED"): ("paused", True),
    ("GET", "ENABLED"): ("paused", False),
    ("PUT", "DISABLED"): ("put_inhibited", True),
    ("PUT", "ENABLED"): ("put_inhibited", False),
    ("DEFTYPE", "PERMDYN"): ("permanent", True),
    ("DEFTYPE", "TEMPDYN"): ("permanent", False),
}
CAPPED = re.compile(r"\s*CAPEXPRY\(\s*(\d{1,9}|NOLIMIT)\s*\)\s*", re.I)
TENTH_MS = 100  # CAPEXPRY is in tenths of a second
# Attribute, its value, and the part of the script that sets it.
Equal = tuple[str, Any, Path]


def equal(kind: str, name: str, key: str, said: GivenValue) -> Equal | None:
    """The attribute that a value is here.

    Raises:
        ValueError: it is no number, or out of the range that IBM MQ has.
    """
    known = KINDS[kind].attributes
    found: tuple[str, Any] | None = FLAGS.get((key, said.text))
    if key in NUMBERS:
        attribute, most = NUMBERS[key]
        if not said.text.isdecimal() or int(said.text) > most:
            raise ValueError(f"it is no whole number from 0 to {most:,}.")
        found = attribute, int(said.text)
    elif key in NAMES:
        found = NAMES[key], said.text
    return (*found, said.path) if found and found[0] in known else None


def equals(parts: Inventory, one: MqscObject) -> Iterator[Equal]:
    """The attributes of an object; comments name those that have no equal here."""
    for key, said in one.attributes.items():
        try:
            found = equal(one.kind, one.name, key, said)
        except ValueError as error:
            parts.name(str(error), said.path)
            continue
        if found is not None:
            yield found
        elif says_nothing(one.kind, key, said.text):
            parts.default(said.path)
        elif key not in ("TARGET", "TARGTYPE") and not is_capped(key, said.text):
            parts.name(reason(key), said.path)


def reason(key: str) -> str:
    return words.REASONS.get(key, words.NOTHING_LIKE_IT)


def make(script: Script, found: Converted, one: MqscObject) -> None:
    """A local queue or a model queue."""
    kind, parts = KINDS[one.kind], found.parts
    if one.name in ALSO_HERE and leave_as_shipped(parts, one):
        return
    values = found.of(kind, one.name, source=one.head)
    parts.take(*one.sources)
    defaults = kind.defaults((one.name,))
    for attribute, value, path in equals(parts, one):
        if value == defaults[attribute]:
            parts.default(path)
        else:
            found.set(values, attribute, value, path)
    fed = (queue_of(script, each) for each in script.of("SUB"))
    cap(found, one, "" if one.name in fed else one.name)


def queue_of(script: Script, subscription: MqscObject) -> str:
    """The queue that a subscription names, by itself or by an alias."""
    name = subscription.text("DEST")
    alias = script.find("QALIAS", name)
    return alias.text("TARGET") if alias else name


def leave_as_shipped(parts: Inventory, one: MqscObject) -> bool:
    """Leave out what IBM MQ ships of an object that exists here, too; whether nothing
    else is said of it."""
    for key, said in list(one.attributes.items()):
        is_own = (key, said.text) in LIMITS_ALSO_HERE
        if is_own or is_shipped(one.kind, key, said.text):
            parts.default(said.path)
            del one.attributes[key]
    defaults = KINDS[one.kind].defaults((one.name,))
    if any(value != defaults[name] for name, value, _ in equals(parts, one)):
        return False
    parts.default(*one.sources, *(said.path for said in one.attributes.values()))
    return True


def is_capped(key: str, text: str) -> bool:
    return key == "CAPEXPRY" or (key == "CUSTOM" and bool(CAPPED.search(text)))


def cap(found: Converted, one: MqscObject, address: str) -> None:
    """CAPEXPRY, alone or in CUSTOM, as the setting of an address."""
    for key in one.attributes.keys() & {"CAPEXPRY", "CUSTOM"}:
        said = one.attributes[key]
        if not is_capped(key, said.text) or says_nothing(one.kind, key, said.text):
            continue
        match = CAPPED.fullmatch(
            said.text if key == "CUSTOM" else f"CAPEXPRY({said.text})"
        )
        if match is None or one.kind not in ("QLOCAL", "TOPIC") or not address:
            found.parts.name(reason(key if match is None else "CAPEXPRY"), said.path)
        elif match[1].upper() == "NOLIMIT":
            found.parts.default(said.path)
        else:
            setting = found.of(SETTING, literal(address), source=one.head)
            delay = int(match[1]) * TENTH_MS
            found.set(setting, "max_expiry_delay_ms", delay, said.path)


def make_alias(script: Script, found: Converted, one: MqscObject) -> None:
    """An alias of a queue, or of a topic, which is the address of its string."""
    parts = found.parts
    for _, _, path in equals(parts, one):
        parts.name(words.NOTHING_LIKE_IT, path)
    cap(found, one, "")
    says = [said for key in ("TARGET", "TARGTYPE") if (said := one.attributes.get(key))]
    paths = [*one.sources, *(said.path for said in says)]
    target, why = target_of(script, one, one.text("TARGET"))
    if why:
        parts.name(why, *paths)
    else:
        values = found.of(ALIAS, one.name, source=one.head)
        found.set(values, "target", target, *paths)


def target_of(script: Script, one: MqscObject, name: str) -> tuple[str, str]:
    """The target of an alias, or the reason why it can have none."""
    if not name:
        return "", "it has no TARGET, and refers to nothing."
    if any(each.text("TOPICSTR") == one.name for each in script.of("TOPIC")):
        return "", "there is a topic string of this name, which is an address here."
    if one.text("TARGTYPE") == "TOPIC":
        topic = script.find("TOPIC", name)
        string = topic.text("TOPICSTR") if topic else ""
        why = (
            f"the topic {name} is not defined in this file, so its string is not known:"
            f" `backout alias create {one.name} --target STRING`."
        )
        return string, "" if string else why
    if script.find("QREMOTE", name):
        return "", words.GROUPS_OF_KINDS["QREMOTE"]
    return name, ""


def leave_remote(script: Script, found: Converted, one: MqscObject) -> None:
    numbers = {(path[0],) for path in one.sources}
    found.parts.name(words.GROUPS_OF_KINDS["QREMOTE"], *sorted(numbers))


def name_altered(script: Script, found: Converted, command: Command) -> None:
    """Name ALTER of an object that the script does not define, with the command that
    does it here."""
    kind, attributes = KINDS.get(command.kind), script.attributes(command)
    one = MqscObject(command.kind, command.name, attributes, [command.head])
    options: list[str] = []
    if kind is not None:
        for attribute, value, _ in equals(found.parts, one):
            options += option(kind, attribute, value)
        if kind is ALIAS and one.text("TARGET") and one.text("TARGTYPE") != "TOPIC":
            options += ["--target", one.text("TARGET")]
    words_of_it = ["backout", kind.name if kind else "", "alter", command.name]
    line = shlex.join([*words_of_it, *options, "--yes"]) if options else ""
    found.parts.name(words.altered_elsewhere(line), (command.number,))


def option(kind: ObjectKind, attribute: str, value: Any) -> list[str]:
    """An attribute as an option of the command line."""
    short, said = write_attribute(kind.attributes[attribute], value)
    word = short.replace("_", "-")
    if isinstance(said, bool):
        return [f"--{word}" if said else f"--no-{word}"]
    return [f"--{word}", str(said)]
