"""Files of RabbitMQ and of MQSC without one of their parts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from broker.declarations.converters import read
from broker.declarations.converters.mqsc import reading
from broker.declarations.converters.mqsc.reading import Command
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Path

Made = Mapping[tuple[str, tuple[str, ...]], Any]
Remover = Callable[[str, Path], str]


def made(form: str, text: str) -> Made | str:
    """The objects that a file becomes; or why it is refused."""
    try:
        found = read(form, text.encode())
    except WrongSettings as error:
        return str(error)
    return {
        (one.kind.name, one.key): "purged" if one.purge else one.absent or one.values
        for one in found.declarations
    }


def parts(form: str, text: str) -> dict[Path, str]:
    """What became of each part of a file."""
    return read(form, text.encode()).parts.sorted_out()


def without_value(text: str, path: Path) -> str:
    """A document of RabbitMQ without a value; without a pair of name and value, if it
    is of one."""
    document = json.loads(text)
    at = copy.copy(path)
    if at[-3:-2] == ("definition",):
        at = at[:-1]
    *above, last = at
    holder: Any = document
    for one in above:
        holder = holder[one]
    del holder[last]
    return json.dumps(document)


def without_keyword(text: str, path: Path) -> str:
    """A script without a keyword; or without a command, if the path is its head."""
    commands = reading.read(text)
    number, word = path
    left = [
        as_script(one, str(word) if one.number == number else "")
        for one in commands
        if (one.number, one.head) != (number, path)
    ]
    return "\n".join(left)


def as_script(command: Command, left_out: str) -> str:
    words = [
        word if value is None else f"{word}({value})"
        for word, value in command.keywords.items()
        if word != left_out
    ]
    return f"{command.verb} {command.kind}('{command.name}') {' '.join(words)}"


REMOVERS: Mapping[str, Remover] = {
    "rabbitmq": without_value,
    "mqsc": without_keyword,
}
