"""Acts as subcommands of ``manage.py backout``.

What the act is about is an argument; the other fields are options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from django.core.management.base import CommandError
from typer import Argument, Option

from broker.acts import ActField, DeclaredAct, act, require
from broker.config.documents import LARGEST_BYTES
from console.edges.answers import as_json
from console.edges.commands import actors, printing
from console.edges.commands.actors import NOTHING, USAGE
from console.edges.commands.options import Json, User, Yes, contents, moment
from console.edges.reading import READERS

SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
NOT_DONE = "Nothing is done yet; --yes does it."


def subcommand(
    one: DeclaredAct, preview: Callable[[Any, Any], list[str]] | None = None
) -> Callable[..., None]:
    """An act as a function, from whose signature typer makes a command.

    Args:
        one: the act.
        preview: lines that say what the request of an actor would change; they are
            printed where nothing is done yet.
    """

    def command(self: Any, **given: Any) -> None:
        person = actors.acting(given.pop("user"))
        is_json = given.pop("json")
        is_ordered = given.pop("yes", True)
        request = one.request(**read_values(one.fields, given))
        if not is_ordered:
            require(person, request)
            lines = preview(person, request) if preview else []
            told = {"done": False} | ({"changes": lines} if preview else {})
            words = "\n".join([*lines, f"{one.sentence} {NOT_DONE}"])
            self.tell(told, words, as_json=is_json)
            return
        answer = act(person, request)
        self.tell(as_json(one, answer), printing.lines(str(answer)), as_json=is_json)
        if not getattr(answer, "changed", True):
            raise typer.Exit(NOTHING)

    options = [("user", User, None), ("json", Json, False)]
    if one.is_confirmed:
        options.append(("yes", Yes, False))
    parameters = [
        *map(parameter_of, one.fields),
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, kind, default in options
        ),
    ]
    command.__name__ = one.name
    command.__doc__ = f"{one.sentence}\n\n{one.details}".strip()
    command.__signature__ = Signature([SELF, *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {field.name: field.annotation for field in parameters}
    return command


def parameter_of(field: ActField) -> Parameter:
    kind = type_of(field)
    words = [field.holds.help or "Which."]
    if field.holds.is_file:
        words.append("A file.")
    if field.choices:
        words.append(f"One of {', '.join(field.choices)}.")
    about: dict[str, Any] = {"help": " ".join(words)}
    if field.has_pairs or field.parts:
        about["metavar"] = "NAME=VALUE"
    if field.is_required or field.holds.is_argument:
        spelled: Any = Argument(**about)
        return Parameter(
            field.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Annotated[kind if field.is_required else kind | None, spelled],
            default=Parameter.empty if field.is_required else None,
        )
    option = option_of(field)
    if field.default is True:
        option += f"/--no-{option[2:]}"
    spelled = Option(*(field.holds.options or (option,)), **about)
    return Parameter(
        field.name,
        Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind | None, spelled],
        default=None,
    )


def option_of(field: ActField) -> str:
    dashes = "-" if len(field.word) == 1 else "--"
    return dashes + field.word.replace("_", "-")


def type_of(field: ActField) -> Any:
    if field.holds.is_file:
        return Path
    if field.has_pairs or field.parts:
        return list[str]
    if field.has_many:
        return list[int] if get_args(field.type)[0] is int else list[str]
    return field.type if field.type in (bool, int) else str


def check_choices(field: ActField, values: list[Any]) -> None:
    for value in values:
        if field.choices and value not in field.choices:
            raise ValueError(f"{value!r} is none of {', '.join(field.choices)}.")


def read_file(path: Path) -> str:
    return contents(path, LARGEST_BYTES).decode(errors="replace")


def read_exactly(path: Path) -> str:
    """The text of a file, whose bytes it keeps.

    Raises:
        ValueError: it is not UTF-8.
    """
    return contents(path, LARGEST_BYTES).decode()


def read_pairs(texts: list[str]) -> dict[str, str]:
    """Values by name.

    Raises:
        ValueError: a text is not as ``NAME=VALUE``.
    """
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise ValueError(f"write NAME=VALUE, not {text}.")
        pairs[name] = value
    return pairs


def read_parts(field: ActField, texts: list[str]) -> Any:
    """A dataclass from the values of its fields.

    Raises:
        ValueError: a text is not as ``NAME=VALUE``, or there is no such field.
    """
    pairs, names = read_pairs(texts), [one.name for one in field.parts]
    if unknown := [name for name in pairs if name not in names]:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(names)}.")
    for one in field.parts:
        check_choices(one, [pairs[one.name]] if one.name in pairs else [])
    return field.type(**pairs)


def reader_of(field: ActField) -> Callable[[Any], Any] | None:
    """How what is typed is read; None: it is the value."""
    readers: tuple[tuple[object, Callable[[Any], Any]], ...] = (
        (field.holds.is_past, partial(moment, name=option_of(field))),
        (field.has_many, tuple),
        (field.has_pairs, read_pairs),
        (field.parts, partial(read_parts, field)),
        (field.holds.is_file and field.type is Any, read_exactly),
        (field.holds.is_file, read_file),
    )
    found = (read for holds, read in readers if holds)
    return next(found, READERS.get(field.type))


def read_values(fields: Iterable[ActField], given: dict[str, Any]) -> dict[str, Any]:
    """The fields that were given, as their types."""
    values = {}
    for field in fields:
        value = given.get(field.name)
        if value is None or value == []:
            continue
        read = reader_of(field)
        try:
            values[field.name] = read(value) if read else value
            check_choices(field, value if field.has_many else [value])
        except ValueError as error:
            raise CommandError(
                f"{option_of(field)}: {error}", returncode=USAGE
            ) from None
    return values
