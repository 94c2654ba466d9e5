"""Each kind of object in the API: its path, and its schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ninja import Router
from pydantic import (
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
)

from broker.declarations import Attribute, ObjectKind, every_kind
from broker.declarations.kinds import QUEUE, RECURRING

TYPES: Mapping[type, Any] = {
    bool: StrictBool,
    int: StrictInt,
    float: StrictFloat | StrictInt,
    str: StrictStr,
    list: list[StrictStr],
    dict: dict[StrictStr, StrictStr | StrictInt | StrictFloat | StrictBool],
}
NAMES = ("name", "ref_name")  # in paths, keys with these names are called by the kind


@dataclass(frozen=True, slots=True)
class Published:
    """A kind of object in the API."""

    kind: ObjectKind
    router: Router
    path: str
    parameters: tuple[str, ...]  # names in the path, one for each part of the key
    list_at: str  # empty: the objects are listed by another operation
    read_at: str = ""  # added to the path of the operation that reads it

    @property
    def title(self) -> str:
        return camel(self.kind.name)

    def schema(self, name: str, doc: str, base: type, *, keys: bool) -> type:
        """A schema with all attributes of the kind, each optional in a request."""
        fields: dict[str, Any] = {}
        for key in self.kind.keys if keys else ():
            fields[key] = (str, ...)
        for secret in self.kind.secrets if keys else ():
            fields[f"has_{secret}"] = (bool, ...)
        for fact, of in self.kind.read_only.items() if keys else ():
            fields[fact] = (of, ...)
        for one in self.kind.attributes.values():
            if keys and one.is_secret:
                continue
            default = Field(default=... if keys else None, description=one.help)
            fields[one.name] = (type_of(one, accepts_units=not keys), default)
        return create_model(name, __base__=base, __doc__=doc, **fields)


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def type_of(one: Attribute, *, accepts_units: bool) -> Any:
    kind = TYPES[one.type]
    if one.is_content and one.type is dict:
        kind = dict[StrictStr, JsonValue]
    if one.choices and one.type is str:
        kind = Literal[one.choices]
    if one.suffix and accepts_units:
        kind = kind | StrictStr
    return kind | None


def published(
    own: Router, elsewhere: Mapping[ObjectKind, Router]
) -> Iterator[Published]:
    """All kinds. A part of another object has its path within that of the object."""
    every = {one.name: one for one in every_kind()}
    for kind in every.values():
        names = names_in_path(kind)
        owner = every.get(names[0]) if len(names) > 1 else None
        within = f"{at_of(owner)}/{{queue:{owner.name}}}" if owner else ""
        at = within + at_of(kind)
        list_at = "" if kind in (*elsewhere, RECURRING) else at
        path = at + "".join(f"/{{queue:{one}}}" for one in names[bool(owner) :])
        read_at = "/definition" if kind in elsewhere else ""
        on = elsewhere.get(kind, own)
        yield Published(kind, on, path, names, list_at, read_at)


def names_in_path(kind: ObjectKind) -> tuple[str, ...]:
    *within, last = kind.keys
    # the paths of queues have {name} everywhere
    is_name = last in NAMES and kind is not QUEUE
    return (*within, kind.name if is_name else last)


def at_of(kind: ObjectKind) -> str:
    return f"/{kind.plural.replace('_', '-')}"
