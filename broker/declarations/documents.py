"""The file ``backout.toml``: a table of objects for each kind, by their names."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from broker.declarations.attributes import Attribute, named, read_value, write_attribute
from broker.declarations.object_kind import Key, ObjectKind, every_kind
from broker.declarations.planning import Declaration
from broker.errors.settings import WrongSettings
from broker.formats.quantities import write_size

LARGEST_BYTES = 2**20
WORDS = ("absent", "purge", "unset")  # keys of an object that are not attributes
BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def read(
    text: str | bytes, kinds: Sequence[ObjectKind] = ()
) -> tuple[list[Declaration], list[ObjectKind]]:
    """The declarations of a document, and the kinds of which it has a table.

    Args:
        text: the document.
        kinds: those that it may have; by default all that are registered.

    Raises:
        WrongSettings: it is no TOML, or has unknown names or wrong values.
    """
    if len(text) > LARGEST_BYTES:
        raise WrongSettings("", f"It is above {write_size(LARGEST_BYTES)}. Split it.")
    try:
        plain = text.decode() if isinstance(text, bytes) else text
        tables = tomllib.loads(plain)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongSettings("", f"This is no TOML in UTF-8: {error}.") from None
    by_name = {kind.plural: kind for kind in kinds or every_kind()}
    found: list[Declaration] = []
    for name, table in tables.items():
        if name not in by_name:
            words = ", ".join(by_name)
            raise WrongSettings(f"[{name}]", f"There is no such table: {words}.")
        for key, content in objects(table, by_name[name], (), name):
            found.append(read_one(by_name[name], key, content))
    return found, [by_name[name] for name in tables]


def objects(
    table: Any, kind: ObjectKind, key: Key, where: str
) -> Iterator[tuple[Key, Any]]:
    """The keys of the objects in a table, each with its content."""
    if not isinstance(table, dict):
        raise WrongSettings(where, "It must be a table, with a name for each entry.")
    for name, content in table.items():
        if len(key) + 1 < len(kind.keys):
            yield from objects(content, kind, (*key, name), f"{where}.{quoted(name)}")
        else:
            yield (*key, name), content


def read_one(kind: ObjectKind, key: Key, content: Any, where: str = "") -> Declaration:
    """The declaration of one object.

    Args:
        kind: the kind of object.
        key: its key.
        content: its attributes and ``absent``, ``purge`` and ``unset``; or the value of
            the attribute that may stand alone.
        where: its place in a document; by default made from the key.

    Raises:
        WrongSettings: a name is unknown, or a value is wrong.
    """
    where = where or ".".join([kind.plural, *map(quoted, key)])
    if kind.bare and not isinstance(content, dict):
        content = {kind.bare: content}
    if not isinstance(content, dict):
        raise WrongSettings(where, "It must be a table of attributes.")
    said = {name: value for name, value in content.items() if name not in WORDS}
    values = values_of(kind, said, where)
    unset(kind, key, content.get("unset", []), values, where)
    words = {word: content.get(word, False) for word in ("absent", "purge")}
    for word, value in words.items():
        if type(value) is not bool:
            raise WrongSettings(f"{where}, {word}", "It must be true or false.")
    if words["absent"] and values:
        raise WrongSettings(where, "It is absent, so it has no attributes.")
    return Declaration(kind, key, values, **words, where=where)


def unset(
    kind: ObjectKind, key: Key, names: Any, values: dict[str, Any], where: str
) -> None:
    """Add the defaults of the attributes to unset."""
    if not isinstance(names, list):
        raise WrongSettings(f"{where}, unset", "It must be a list of names.")
    defaults = kind.defaults(key)
    for name in names:
        one = known(kind, name, f"{where}, unset")
        if one.name in values:
            raise WrongSettings(f"{where}, {name}", "It is set and unset. Choose one.")
        values[one.name] = defaults.get(one.name, one.default)


def values_of(
    kind: ObjectKind, content: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """The values of the attributes that are named."""
    values: dict[str, Any] = {}
    for name, value in content.items():
        one = known(kind, name, where)
        if one.name in values:
            raise WrongSettings(f"{where}, {name}", "It is given twice.")
        place = f"{where}, {name}"
        values[one.name] = read_value(one, value, name=name, where=place)
    return values


def known(kind: ObjectKind, name: Any, where: str) -> Attribute:
    """
    Raises:
        WrongSettings: the kind has no attribute of this name.
    """
    one = named(kind.attributes.values(), name) if isinstance(name, str) else None
    if one is None:
        words = ", ".join(each.short for each in kind.attributes.values())
        raise WrongSettings(
            f"{where}, {name}", f"There is no such attribute. There are: {words}."
        )
    return one


def export(kinds: Sequence[ObjectKind] = ()) -> str:
    """What is stored, as a document, by default of all kinds that are registered.
    Attributes with their default are left out.
    """
    found = []
    for kind in kinds or every_kind():
        for row in kind.rows():
            key = kind.key_of(row)
            defaults, values = kind.defaults(key), kind.values_of(row)
            left = {k: v for k, v in values.items() if v != defaults[k]}
            found.append(Declaration(kind, key, left))
    return write(found)


def write(declarations: Iterable[Declaration], *, notes: Sequence[str] = ()) -> str:
    """Declarations as a document.

    Args:
        declarations: what is to be; each kind together.
        notes: sentences to begin with, as comments.
    """
    lines = [f"# {line}" for note in notes for line in map(plain, note.splitlines())]
    for one in sorted(declarations, key=lambda one: one.kind.rank):
        table = ".".join([one.kind.plural, *map(quoted, one.key)])
        lines += ["", f"[{table}]", *content_of(one)]
    return "\n".join(lines).lstrip("\n") + "\n"


def content_of(one: Declaration) -> Iterator[str]:
    """The lines of an object's table."""
    left = []
    for name, each in () if one.absent else one.values.items():
        short, value = write_attribute(one.kind.attributes[name], each)
        if value is None:
            left.append(name)
        else:
            yield f"{short} = {toml(value)}"
    if left:
        yield f"unset = {toml(left)}"
    for word in ("absent", "purge"):
        if getattr(one, word):
            yield f"{word} = true"


def plain(line: str) -> str:
    """A line for a comment, which has no control characters but tabs."""
    return re.sub(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]", "\ufffd", line)


def quoted(name: str) -> str:
    """A name as a key of TOML."""
    return name if name and set(name) <= BARE else toml(name)


def toml(value: Any) -> str:
    """A value of an attribute as TOML, which is nearly as JSON.

    Raises:
        WrongSettings: a text has a half of a pair of surrogates.
    """
    if isinstance(value, dict):
        pairs = (f"{quoted(name)} = {toml(each)}" for name, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise WrongSettings("", f"{text!a} has half a character, and is no text.")
    return text
