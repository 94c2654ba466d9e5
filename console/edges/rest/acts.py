"""Acts as operations of the REST interface.

The path names some fields of the request; the others are the body. Texts, schemas and
limits of the OpenAPI document are those of the declaration. Limits are checked by
``act``, so that each door refuses alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING
from datetime import datetime
from functools import cache
from typing import Annotated, Any

from django.http import HttpRequest, JsonResponse
from ninja import Router
from pydantic import AwareDatetime, BeforeValidator, create_model
from pydantic.fields import FieldInfo

from broker.acts import ActField, DeclaredAct, act
from broker.acts.declaring import fields_of
from broker.formats import lossless_json
from console.edges.answers import as_json
from console.edges.reading import read_instant
from console.edges.rest.operations import (
    add_operation,
    fields_in_path,
    schema_name,
)
from console.edges.rest.requests import RequestBody, read_json

BODY = "body"
Instant = Annotated[AwareDatetime, BeforeValidator(read_instant)]
LEAST = {str: "minLength", tuple: "minItems"}
MOST = {str: "maxLength", tuple: "maxItems"}
DOCUMENT = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


def serve(
    router: Router,
    method: str,
    path: str,
    one: DeclaredAct,
    *,
    after: Callable[[], None] | None = None,
    **names: str,
) -> None:
    """Add an act to a router.

    Args:
        router: of the part of the interface.
        method: of HTTP, as "POST".
        path: a route of Django, whose parameters name fields of the request.
        one: the act.
        after: called when it is done, as to drop what pages keep.
        names: fields of the request, by parameters of the path that differ from them.
    """
    in_path = fields_in_path(path, names)
    rest = [one for one in one.fields if one.name not in in_path.values()]

    def view(request: HttpRequest, **given: Any) -> Any:
        said = given.pop(BODY, None)
        values = {in_path[name]: value for name, value in given.items()}
        values |= {field.name: value_of(field, request, said) for field in rest}
        answer = act(request.user, one.request(**values))
        if after is not None:
            after()
        return JsonResponse(as_json(one, answer))

    others: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if [field.holds.is_json for field in rest] == [True]:
        more["openapi_extra"] = DOCUMENT  # the only field is the whole body
    elif rest or method != "DELETE":  # a DELETE without other fields has no body
        others[BODY] = body_of(schema_name(one), one.request, rest)
    add_operation(
        router, method, path, one, view, in_path, others, needs=needs_of(one), **more
    )


def needs_of(one: DeclaredAct) -> str:
    needs = [f"the permission `{name}`" for name in one.permissions]
    needs += [
        f"the authority `{name}` on the {field}"
        for field, name in one.authorities.items()
    ]
    needs += [rule.words for rule in one.rules.values()]
    if one.needs_reason:
        needs.append("a reason")
    return f"Needs {', and '.join(needs)}."


def body_of(name: str, of: type, fields: Iterable[ActField]) -> type[RequestBody]:
    """The schema of fields of a request, or of a part of one."""
    members: Any = {field.name: member_of(field) for field in fields}
    return create_model(name, __base__=RequestBody, __doc__=of.__doc__, **members)


@cache
def schema_of(kind: type) -> type[RequestBody]:
    """The schema of a part, one for all requests that have it."""
    return body_of(kind.__name__, kind, fields_of(kind))


def value_of(field: ActField, request: HttpRequest, said: RequestBody | None) -> Any:
    """What the request has in a field; JSON as its text, with all digits of numbers.

    Raises:
        InvalidPatch: it is not JSON, or too long.
    """
    if said is None:
        return lossless_json.dumps(read_json(request))
    value = getattr(said, field.name)
    if field.holds.is_json and value is not None:
        return lossless_json.dumps(read_json(request)[field.name])
    return field.type(**value.model_dump()) if field.parts and value else value


def member_of(field: ActField) -> tuple[Any, FieldInfo]:
    kind = field.type
    if kind is datetime:
        kind = AwareDatetime if field.holds.is_past else Instant
    if field.holds.is_json:
        kind = dict[str, Any]
    elif field.parts:
        kind = schema_of(field.type)
    schema: dict[str, Any] = {}
    base = tuple if field.has_many else str if kind is str else None
    for value, names, of_number in (
        (field.holds.least, LEAST, "minimum"),
        (field.holds.most, MOST, "maximum"),
    ):
        if value is not None:
            schema[names.get(base, of_number) if base else of_number] = value
    default = ... if field.default is MISSING else field.default
    about = FieldInfo(
        default=default,
        alias=field.holds.word or None,
        validation_alias=field.holds.word or None,
        description=field.holds.help or None,
        json_schema_extra=schema or None,
    )
    return (Annotated[kind | None, about] if field.is_optional else kind), about
