"""The OpenAPI document as pages show it: operations by part, and tables of fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.utils.text import slugify

from console import api

DEEPEST = 4  # fields of nested objects are listed down to this level
METHODS = ("get", "post", "put", "patch", "delete")
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a request or response."""

    name: str  # with the names of outer fields: message.properties[].name
    type: str
    is_required: bool
    words: str
    place: str = ""  # of a parameter: path, query, header


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a request or response."""

    media_type: str
    type: str
    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with a status that is no error."""

    status: str
    words: str
    body: Body | None


@dataclass(frozen=True, slots=True)
class Operation:
    name: str  # the operationId
    method: str
    path: str
    summary: str
    description: Sequence[Sequence[tuple[str, bool]]]  # paragraphs of text and code
    parameters: Sequence[Field]
    bodies: Sequence[Body]
    answers: Sequence[Answer]
    errors: Sequence[tuple[str, str]]  # each status and its text
    command: str  # for a shell


@dataclass(frozen=True, slots=True)
class Part:
    """The operations of one tag."""

    slug: str
    name: str
    operations: Sequence[Operation]


@cache
def parts() -> Mapping[str, Part]:
    """All parts by their slug, by name; they do not change while the process runs."""
    found: dict[str, list[Operation]] = {}
    document = cast(Json, api.document())
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                (tag,) = operation["tags"]
                found.setdefault(tag, []).append(
                    Reader(document).operation(path, method, operation)
                )
    return {
        slugify(tag): Part(slugify(tag), tag, operations)
        for tag, operations in sorted(found.items())
    }


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the parts of an OpenAPI document."""

    document: Json

    def operation(self, path: str, method: str, given: Json) -> Operation:
        parameters = [
            Field(
                one["name"],
                self.type_of(one["schema"]),
                one.get("required", False),
                self.words_of(one["schema"] | one),
                one["in"],
            )
            for one in given.get("parameters", ())
        ]
        asked = given.get("requestBody", {}).get("content", {})
        answers = given["responses"]
        return Operation(
            name=given["operationId"],
            method=method.upper(),
            path=path,
            summary=given["summary"],
            description=list(map(pieces, given.get("description", "").split("\n\n"))),
            parameters=parameters,
            bodies=self.bodies(asked),
            answers=[
                Answer(str(status), one["description"], next(iter(found), None))
                for status, one in answers.items()
                if int(status) < 400
                for found in [self.bodies(one.get("content", {}))]
            ],
            errors=[
                (str(status), one["description"])
                for status, one in answers.items()
                if int(status) >= 400
            ],
            command=self.command(path, method, asked),
        )

    def bodies(self, content: Json) -> list[Body]:
        return [
            Body(
                media_type,
                self.type_of(one.get("schema", {})),
                list(self.fields(one.get("schema", {}))),
            )
            for media_type, one in content.items()
        ]

    def named(self, schema: Json) -> Json:
        """The schema itself, where there is a reference to it."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return cast(Json, self.document["components"]["schemas"][name])
        if len(schema.get("allOf", ())) == 1:
            return self.named(schema["allOf"][0])
        return schema

    def fields(
        self, schema: Json, before: str = "", above: tuple[str, ...] = ()
    ) -> Iterator[Field]:
        """The fields of an object, or of the objects in an array, and theirs."""
        if len(above) > DEEPEST or schema.get("$ref", "") in above:
            return
        above += (schema.get("$ref", ""),) if "$ref" in schema else ()
        found = self.named(schema)
        if "items" in found:
            yield from self.fields(found["items"], f"{before}[]", above)
        for choice in found.get("anyOf", found.get("oneOf", ())):
            yield from self.fields(choice, before, above)
        for name, one in found.get("properties", {}).items():
            path = f"{before}.{name}" if before else name
            is_required = name in found.get("required", ())
            words = self.words_of(one)
            yield Field(path, self.type_of(one), is_required, words)
            yield from self.fields(one, path, above)

    def type_of(self, schema: Json) -> str:
        """What a value may be, in a few words."""
        found = self.named(schema)
        values = [found["const"]] if "const" in found else found.get("enum")
        if values:
            return ", ".join(map(json.dumps, values))
        choices = found.get("anyOf", found.get("oneOf"))
        if choices:
            return " or ".join(dict.fromkeys(map(self.type_of, choices)))
        if found.get("type") == "array":
            return f"array of {self.type_of(found.get('items', {}))}"
        if isinstance(found.get("additionalProperties"), Mapping):
            return f"object of {self.type_of(found['additionalProperties'])}"
        return str(found.get("format") or found.get("type") or "any")

    def words_of(self, schema: Json) -> str:
        """The description of a value, its default and its limits."""
        found = {**self.named(schema), **schema}
        said = [str(found["description"]).rstrip(".")] if "description" in found else []
        if found.get("default") is not None:
            said.append(f"default {json.dumps(found['default'])}")
        limits = [found, *found.get("anyOf", ())]
        said += [
            words.format(one[key])
            for key, words in LIMITS.items()
            for one in limits
            if key in one
        ]
        return "; ".join(said)

    def command(self, path: str, method: str, asked: Json) -> str:
        """The request for curl, with the required fields of its body."""
        words = ["curl", "-H 'Authorization: Bearer SECRET'"]
        if method != "get":
            words.append(f"-X {method.upper()}")
        schema = asked.get("application/json", {}).get("schema")
        if schema is not None:
            body = json.dumps(self.example(schema)).replace("'", "'\\''")
            words.append(f"-H 'Content-Type: application/json' -d '{body}'")
        return " ".join([*words, f'"$URL{path}"'])

    def example(self, schema: Json, depth: int = 0) -> Any:
        """A value with no more than what is required."""
        found = self.named(schema)
        for key in ("const", "default"):
            if key in found:
                return found[key]
        choices = found.get("anyOf", found.get("oneOf"))
        if choices or "enum" in found:
            return self.example(choices[0], depth) if choices else found["enum"][0]
        if found.get("type") == "array":
            has_items = found.get("minItems", 0) and depth < DEEPEST
            return [self.example(found["items"], depth + 1)] if has_items else []
        if found.get("type") == "object":
            return {
                name: self.example(found["properties"][name], depth + 1)
                for name in found.get("required", ())
                if name in found.get("properties", {}) and depth < DEEPEST
            }
        plain = {"integer": found.get("minimum", 0), "number": 0, "boolean": False}
        return plain.get(found.get("type", ""), "…")


def pieces(paragraph: str) -> list[tuple[str, bool]]:
    """The texts of a paragraph of a docstring, and whether each is code."""
    words = " ".join(paragraph.split())
    return [(text, n % 2 == 1) for n, text in enumerate(words.split("``")) if text]
