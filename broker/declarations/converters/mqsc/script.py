"""What an MQSC script leaves on a queue manager: its commands carried out in order.

An object takes from the default object of its kind, or from the one that LIKE names,
what its DEFINE does not say; so each value keeps the part of the file that says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from broker.declarations.converters.mqsc import words
from broker.declarations.converters.mqsc.reading import Command
from broker.declarations.converters.mqsc.shipped import (
    ALSO_HERE,
    DEFAULT_OBJECTS,
    is_shipped,
)
from broker.formats.inventory import Inventory, Path

SPACES = {  # kinds with the same value share one set of unique names
    **dict.fromkeys(("QLOCAL", "QALIAS", "QMODEL", "QREMOTE"), "queue"),
    "TOPIC": "topic",
    "SUB": "subscription",
}
FLAGS = {  # keywords without a value
    "HARDENBO": ("HARDENBO", "YES"),
    "NOHARDENBO": ("HARDENBO", "NO"),
    "SHARE": ("SHARE", "YES"),
    "NOSHARE": ("SHARE", "NO"),
    "TRIGGER": ("TRIGGER", "YES"),
    "NOTRIGGER": ("TRIGGER", "NO"),
    "TARGQ": ("TARGET", None),  # the older name of TARGET
}
OF_THE_COMMAND = {
    *("REPLACE", "NOREPLACE", "FORCE", "NOFORCE", "LIKE", "CMDSCOPE"),
    *("PURGE", "NOPURGE", "AUTHREC", "IGNSTATE"),
}


class GivenValue(NamedTuple):
    """The value of an attribute, and the part of the script that has it."""

    text: str
    path: Path


Attributes = Mapping[str, GivenValue]


@dataclass(slots=True)
class MqscObject:
    """An object of the queue manager."""

    kind: str
    name: str
    attributes: dict[str, GivenValue]
    sources: list[Path]  # the commands and keywords that define it: DEFINE, LIKE, ALTER

    @property
    def head(self) -> Path:
        return self.sources[0]

    def text(self, key: str) -> str:
        said = self.attributes.get(key)
        return said.text if said else ""


@dataclass(slots=True)
class Script:
    """The state of the queue manager after the commands of the script."""

    parts: Inventory
    objects: dict[tuple[str, str], MqscObject] = field(default_factory=dict)
    defaults: dict[str, Attributes] = field(default_factory=dict)
    deleted: dict[tuple[str, str], Command] = field(default_factory=dict)
    # ALTER of objects that the script does not define.
    altered: list[Command] = field(default_factory=list)
    rights: list[Command] = field(default_factory=list)
    manager: list[Command] = field(default_factory=list)  # ALTER QMGR commands
    # Values that a later command may override.
    said: list[Path] = field(default_factory=list)

    def carry_out(self, command: Command) -> None:
        act = ACTS.get(command.verb)
        kind = (command.verb, command.kind)
        if not command.verb:
            self.parts.name(words.UNREADABLE, command.head)
        elif kind == ("ALTER", "QMGR"):
            self.manager.append(command)
        elif kind == ("SET", "AUTHREC"):
            self.rights.append(command)
        elif act is None or command.kind not in SPACES:
            words.leave(self.parts, command)
        elif not command.name:
            self.parts.name(words.NAMELESS, (command.number,))
        else:
            act(self, command)

    def find(self, kind: str, name: str) -> MqscObject | None:
        """The object of this kind and name, if the script defines it."""
        found = self.objects.get((SPACES[kind], name))
        return found if found is not None and found.kind == kind else None

    def of(self, kind: str) -> list[MqscObject]:
        """The objects of a kind."""
        return [one for one in self.objects.values() if one.kind == kind]

    def attributes(self, command: Command) -> dict[str, GivenValue]:
        """The attributes that a command gives an object."""
        found = {}
        for word in command.keywords.keys() - OF_THE_COMMAND:
            key, flag = FLAGS.get(word, (word, None))
            has_none = command.keywords[word] is None
            text = flag if flag and has_none else command.value(word)
            found[key] = GivenValue(text, command.path(word))
        in_order = {one.path: key for key, one in found.items()}
        paths = [one for one in command.paths if one in in_order]
        self.said += paths
        return {in_order[path]: found[in_order[path]] for path in paths}


def define(script: Script, command: Command) -> None:
    kind, name = command.kind, command.name
    own = script.attributes(command)
    key = (SPACES[kind], name)
    before = script.objects.get(key)
    if DEFAULT_OBJECTS.get(name) == kind:
        change_default(script, command, {}, own)
    elif is_of_the_manager(kind, name):
        script.parts.name(words.OF_THE_MANAGER, (command.number,))
    elif before and (before.kind != kind or "REPLACE" not in command.keywords):
        script.parts.name(words.defined_before(before.kind), (command.number,))
    else:
        inherited, sources = like(script, command)
        if before:
            script.parts.name(words.REPLACED, *before.sources)
        if key in script.deleted:
            script.parts.name(words.DEFINED_AGAIN, (script.deleted.pop(key).number,))
        sources = [command.head, *sources]
        script.objects[key] = MqscObject(kind, name, {**inherited, **own}, sources)
        set_aside(script, command)


def change_default(
    script: Script, command: Command, before: Attributes, own: Attributes
) -> None:
    """Change a default object. Values that it has as shipped by IBM do not count as
    changes."""
    kind = command.kind
    same = [key for key, said in own.items() if is_shipped(kind, key, said.text)]
    script.parts.default(command.head, *(own[key].path for key in same))
    after = {**before, **own}
    script.defaults[kind] = {k: v for k, v in after.items() if k not in same}
    set_aside(script, command)


def like(script: Script, command: Command) -> tuple[Attributes, list[Path]]:
    """The attributes that an object takes from another, and the path of its LIKE."""
    shipped = script.defaults.get(command.kind, {})
    if "LIKE" not in command.keywords:
        return shipped, []
    path, name = command.path("LIKE"), command.value("LIKE")
    if DEFAULT_OBJECTS.get(name) == command.kind:
        script.parts.default(path)
        return shipped, []
    other = script.find(command.kind, name)
    if other is None:
        script.parts.name(words.like_elsewhere(name), path)
        return shipped, []
    return other.attributes, [path]


def set_aside(script: Script, command: Command) -> None:
    """Note keywords that are about the command, and not about the object, as
    defaults."""
    words_of_it = command.keywords.keys() & OF_THE_COMMAND - {"LIKE", "PURGE"}
    script.parts.default(*map(command.path, words_of_it))


def is_of_the_manager(kind: str, name: str) -> bool:
    """Whether an object is one of the queue manager's own, and does not exist here."""
    return name.startswith("SYSTEM.") and ALSO_HERE.get(name) != kind


def alter(script: Script, command: Command) -> None:
    kind, name = command.kind, command.name
    one = script.find(kind, name)
    if DEFAULT_OBJECTS.get(name) == kind:
        own = script.attributes(command)
        change_default(script, command, script.defaults.get(kind, {}), own)
    elif one is not None:
        one.attributes |= script.attributes(command)
        one.sources.append(command.head)
        set_aside(script, command)
    elif is_of_the_manager(kind, name):
        script.parts.name(words.OF_THE_MANAGER, (command.number,))
    elif {(SPACES[kind], name)} & (script.objects.keys() | script.deleted.keys()):
        script.parts.name(words.not_there(kind), (command.number,))
    else:
        script.altered.append(command)


def delete(script: Script, command: Command) -> None:
    key = (SPACES[command.kind], command.name)
    before = script.objects.get(key)
    if is_of_the_manager(command.kind, command.name):
        script.parts.name(words.OF_THE_MANAGER, (command.number,))
    elif before is not None and before.kind != command.kind:
        script.parts.name(words.not_there(command.kind), (command.number,))
    else:
        if before is not None:
            script.parts.name(words.DELETED_BELOW, *before.sources)
            del script.objects[key]
        script.deleted[key] = command
        set_aside(script, command)


ACTS: Mapping[str, Callable[[Script, Command], None]] = {
    "DEFINE": define,
    "ALTER": alter,
    "DELETE": delete,
}
