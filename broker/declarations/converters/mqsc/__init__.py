"""MQSC scripts of IBM MQ, written by hand or by ``dmpmqcfg``.

A script is carried out in thought (``script``); what it leaves on the queue manager
becomes objects here. So a later ALTER, DELETE or REPLACE counts, and so do changed
default objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.mqsc import queues, reading, rights, topics, words
from broker.declarations.converters.mqsc.queues import KINDS
from broker.declarations.converters.mqsc.reading import ENDS, Command
from broker.declarations.converters.mqsc.script import MqscObject, Script
from broker.declarations.converters.mqsc.shipped import says_nothing
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Inventory, Path

MAKERS: Mapping[str, Callable[[Script, Converted, MqscObject], None]] = {
    "QLOCAL": queues.make,
    "QMODEL": queues.make,
    "QALIAS": queues.make_alias,
    "QREMOTE": queues.leave_remote,
    "TOPIC": topics.make_topic,
    "SUB": topics.make_subscription,
}
# The dead letter queue of a queue manager for which the script names no other.
DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: no command can be read.
    """
    commands = reading.read(text)
    if not any(one.verb for one in commands):
        raise WrongSettings("line 1", "No command of MQSC can be read in it.")

    def place(path: Path) -> str:
        return commands[int(path[0])].place(path)

    paths = (path for one in commands for path in one.paths)
    found = Converted(parts=Inventory(paths, place=place))
    script = carried_out(commands, found.parts)
    order = list(MAKERS)
    for one in sorted(script.objects.values(), key=lambda one: order.index(one.kind)):
        MAKERS[one.kind](script, found, one)
    for command in script.deleted.values():
        delete(found, command)
    for command in script.altered:
        queues.name_altered(script, found, command)
    for command in script.rights:
        rights.note(found, command)
    for command in script.manager:
        name_manager(found.parts, command)
    overtaken(script)
    return found


def carried_out(commands: list[Command], parts: Inventory) -> Script:
    script, ended = Script(parts), False
    for one in commands:
        if ended:
            parts.name(words.AFTER_END, one.head)
        else:
            script.carry_out(one)
        ended = ended or one.verb in ENDS
    return script


def delete(found: Converted, command: Command) -> None:
    """Declare the object of a DELETE command as absent; PURGE discards its messages."""
    kind, key = KINDS.get(command.kind), (command.name,)
    if kind is None:
        found.parts.name(words.delete_by_hand(command.kind), (command.number,))
        return
    # The queue is also declared: it is the destination of a subscription.
    if (kind, key) in found.objects:
        found.parts.name(words.DEFINED_AGAIN, (command.number,))
        return
    found.parts.take(command.head)
    if "PURGE" in command.keywords:
        found.parts.take(command.path("PURGE"))
    found.absent[kind, key] = "PURGE" in command.keywords
    found.sources[kind, key] = command.head


def name_manager(parts: Inventory, command: Command) -> None:
    """Name the attributes of the queue manager in comments, with their equals here."""
    parts.default(command.head)
    for key in command.keywords:
        value, path = command.value(key), command.path(key)
        if says_nothing("QMGR", key, value) or value == DEAD_LETTER_QUEUE:
            parts.default(path)
        elif key == "DEADQ":
            parts.name(
                f'set BROKER_DEAD_LETTER_QUEUE = "{value}" in the settings.', path
            )
        else:
            parts.name(words.MANAGER.get(key, words.OF_A_MANAGER), path)


def overtaken(script: Script) -> None:
    """Name the values in a comment that a later command has replaced."""
    ends = script.parts.sorted_out()
    left = [path for path in script.said if ends[path] == "left"]
    if left:
        script.parts.name(words.OVERTAKEN, *left)
