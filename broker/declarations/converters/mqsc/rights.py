"""SET AUTHREC and setmqaut as authorities, which are comments: the user or group may
not exist here."""

from __future__ import annotations

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.mqsc.reading import Command
from broker.declarations.converters.mqsc.script import is_of_the_manager
from broker.declarations.converters.mqsc.words import OF_THE_MANAGER

MAY = {
    "PUT": ["put"], "GET": ["get"], "BROWSE": ["browse"], "INQ": ["inquire"],
    "SET": ["set"], "PASSALL": ["passall"],
    "ALLMQI": ["put", "get", "browse", "inquire", "set", "passall"],
    "ALL": ["put", "get", "browse", "inquire", "set", "passall"],
}  # fmt: skip
# A group that has all authorities in IBM MQ, also in its exports.
ADMINISTRATORS = "mqm"
CONNECTING = (
    "who may connect and administer is decided by credentials (docs/amqp.md) and"
    " permissions (docs/rights.md)."
)
ADMINISTERING = (
    "who may change and delete objects is decided by permissions; who may put for"
    " others, by `passall` (docs/rights.md)."
)
TOPICS = (
    "publishing is `put` on the address, subscribing `get` on its queues; grant them"
    " by hand (docs/rights.md)."
)
TAKEN_AWAY = "nothing is granted that has to be taken away: leave the right out."
GENERIC = (
    "no pattern here matches a part of a word; grant the rights on each name"
    " (docs/rights.md)."
)


def note(found: Converted, command: Command) -> None:
    """Note the rights that a command gives."""
    parts, whole = found.parts, (command.number,)
    people = [("user", one) for one in command.values("PRINCIPAL")]
    people += [("group", one) for one in command.values("GROUP")]
    parts.default(*command.having("QMNAME"))
    profile = command.value("PROFILE")
    if people and all(person == ("group", ADMINISTRATORS) for person in people):
        parts.default(*command.paths)
    elif command.value("OBJTYPE") == "TOPIC":
        parts.name(TOPICS, whole, *command.having("PROFILE"))
    elif command.value("OBJTYPE") != "QUEUE":
        parts.name(CONNECTING, whole)
    elif is_of_the_manager("QLOCAL", profile):
        parts.name(OF_THE_MANAGER, whole, *command.having("PROFILE"))
    elif not pattern_of(profile):
        parts.name(GENERIC, whole, *command.having("PROFILE"))
    else:
        note_queue(found, command, people)


def note_queue(
    found: Converted, command: Command, people: list[tuple[str, str]]
) -> None:
    """Note the rights that a command gives on queues."""
    parts, whole = found.parts, (command.number,)
    words = command.values("AUTHADD") + command.values("AUTHLIST")
    may = [one for word in words for one in MAY.get(word, [])]
    if "AUTHRMV" in command.keywords:
        parts.name(TAKEN_AWAY, command.path("AUTHRMV"))
    for whose, name in people if may else ():
        pattern = pattern_of(command.value("PROFILE"))
        found.grant(f"{whose}:{name}", pattern, may, whole)
    if not (may and people):
        parts.name(ADMINISTERING, whole)
    elif any(word not in MAY and word != "NONE" for word in words):
        parts.name(ADMINISTERING, *command.having("AUTHADD", "AUTHLIST"))


def pattern_of(profile: str) -> str:
    """A pattern that matches the same names as a generic profile; or empty.

    Source:
        IBM MQ, "Wildcards in OAM generic profiles": ``**`` is any number of
        qualifiers, ``*`` one qualifier or a part of one, ``?`` one character.
    """
    words = profile.split(".")
    if any({"*", "?"} & set(one) and one not in ("*", "**") for one in words):
        return ""
    return ".".join("#" if one == "**" else one for one in words)
