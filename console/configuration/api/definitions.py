"""Definitions of all kinds of objects that are registered.

Each is read, defined (``PUT``), changed (``PATCH``) and deleted by its name. They are
those of ``backout.toml`` and of the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema
from pydantic import Field, create_model

from broker.bridges.config.kinds import BRIDGE, LINK
from broker.declarations import (
    Declaration,
    ObjectKind,
    apply,
    one_at_a_time,
    plan,
    read_value,
    version,
)
from broker.declarations.kinds import QUEUE
from broker.security import authorities
from console.accounts.declaring import permission, require_rights
from console.configuration.api.published import Published, camel, published
from console.edges.rest import warned
from console.edges.rest.problems import REFUSED, require
from console.edges.rest.requests import RequestBody
from console.edges.rest.warned import Warned

router = Router(tags=["definitions"])

ETAG = re.compile(r'^(?:W/)?"([^"]*)"$')
Key = tuple[str, ...]


class DefinitionsPage(Schema):
    """Where the page begins, as ``next`` of the page before; and its size."""

    after: str = Field(default="", max_length=600)
    limit: int = Field(default=100, ge=1, le=1000)


class Deletion(Schema):
    """Whether messages on the queue go to the discard bin."""

    purge: bool = False


def publish(one: Published) -> None:
    """Add the operations of a kind to its router."""
    stored = one.schema(
        f"Stored{one.title}", f"The {one.kind.noun}.", Schema, keys=True
    )
    said = one.schema(
        f"New{one.title}",
        f"The attributes of the {one.kind.noun}; those that are missing or null have"
        " their default; a secret stays. A time or a size may be a text with a unit.",
        RequestBody,
        keys=False,
    )
    changes = one.schema(
        f"{one.title}Changes",
        "The attributes to change; null is the default. Others stay.",
        RequestBody,
        keys=False,
    )
    saved = create_model(f"Saved{one.title}", __base__=(stored, Warned))
    name, path = one.kind.name, one.path
    suffix = "_definition" if one.read_at else ""
    add(one, "GET", path + one.read_at, f"read_{name}{suffix}", read, stored)
    add(one, "PUT", path, f"define_{name}", define, saved, said=said)
    add(one, "PATCH", path, f"change_{name}", change, saved, said=changes)
    query = Query[Deletion] if one.kind is QUEUE else None
    add(one, "DELETE", path, f"delete_{name}", delete, saved, query=query)
    if one.list_at:
        publish_list(one, stored)


def publish_list(one: Published, stored: type) -> None:
    plural = one.kind.plural
    fields: dict[str, Any] = {plural: (list[stored], ...), "next": (str | None, ...)}  # type: ignore[valid-type]
    words = "A page, ordered by name; the next one is after ``next``."
    name = f"Listed{camel(plural)}"
    listed = create_model(name, __base__=Schema, __doc__=words, **fields)
    query = Query[DefinitionsPage]
    add(one, "GET", one.list_at, f"list_{plural}", list_all, listed, query=query)


def add(
    one: Published,
    method: str,
    path: str,
    name: str,
    run: Callable[..., Any],
    answer: type,
    **more: Any,
) -> None:
    """Add an operation; its parameters are those in its path, a body, and a query."""
    own = [part for part in one.parameters if f":{part}}}" in path]

    def view(request: HttpRequest, **given: Any) -> Any:
        key = tuple(given.pop(part) for part in own)
        return run(one.kind, key, request, **given)

    view.__name__ = name
    view.__doc__ = run.__doc__
    view.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            argument("request", HttpRequest),
            *(argument(part, Path[str]) for part in own),
            *(argument(name, kind) for name, kind in more.items() if kind is not None),
            argument("response", HttpResponse),
        ]
    )
    plural = one.kind.plural.replace("_", " ")
    summary = f"{SUMMARIES[run]} {plural if run is list_all else one.kind.noun}"
    one.router.add_api_operation(
        path, [method], view, response={200: answer, **REFUSED}, summary=summary
    )


def argument(name: str, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation)


def read(
    kind: ObjectKind, key: Key, request: HttpRequest, response: HttpResponse
) -> dict[str, Any]:
    """The definition, with the ``ETag`` for ``If-Match``."""
    require(request, permission(kind, "view"))
    return answered(kind, visible_object(kind, key, request), response)


def list_all(
    kind: ObjectKind,
    within: Key,
    request: HttpRequest,
    query: DefinitionsPage,
    response: HttpResponse,
) -> dict[str, Any]:
    """Their definitions, without temporary and auto-created objects."""
    require(request, permission(kind, "view"))
    by_name = {
        " ".join(kind.key_of(row)): row
        for row in kind.visible_rows(request.user)
        if kind.key_of(row)[: len(within)] == within
    }
    names = sorted(name for name in by_name if name > query.after)
    part = names[: query.limit]
    return {
        kind.plural: [kind.describe(by_name[name]) for name in part],
        "next": part[-1] if len(names) > query.limit else None,
    }


def define(
    kind: ObjectKind, key: Key, request: HttpRequest, said: Any, response: HttpResponse
) -> dict[str, Any]:
    """Creates or replaces it; effective at once. With ``If-Match`` only if it is
    unchanged since it was read; with ``If-None-Match: *`` only if it does not exist.
    """
    for deed in ("add", "change"):
        require(request, permission(kind, deed))
    if kind.named(key).exists():
        visible_object(kind, key, request)
    values = kind.defaults(key) | values_of(kind, key, said.dict(exclude_unset=True))
    return made(Declaration(kind, key, values), request, response)


def change(
    kind: ObjectKind, key: Key, request: HttpRequest, said: Any, response: HttpResponse
) -> dict[str, Any]:
    """Changes some attributes of what exists; effective at once. ``If-Match`` as for a
    definition.
    """
    require(request, permission(kind, "change"))
    visible_object(kind, key, request)
    values = values_of(kind, key, said.dict(exclude_unset=True))
    return made(Declaration(kind, key, values), request, response)


def delete(
    kind: ObjectKind,
    key: Key,
    request: HttpRequest,
    response: HttpResponse,
    query: Deletion | None = None,
) -> dict[str, Any]:
    """Deletes it and returns its last definition. A queue that holds messages is only
    deleted with ``purge``: they go to the discard bin. ``If-Match`` as for a
    definition.
    """
    require(request, permission(kind, "delete"))
    was = kind.describe(visible_object(kind, key, request))
    purge = query is not None and query.purge
    warnings = carry_out(Declaration(kind, key, absent=True, purge=purge), request)
    return was | {"warnings": warnings}


SUMMARIES: Mapping[Any, str] = {
    read: "The definition of a given",
    list_all: "The",
    define: "Define a given",
    change: "Change a given",
    delete: "Delete a given",
}


def made(
    one: Declaration, request: HttpRequest, response: HttpResponse
) -> dict[str, Any]:
    """Apply a declaration, and return what is stored then."""
    warnings = carry_out(one, request)
    made = answered(one.kind, one.kind.named(one.key).get(), response)
    return made | {"warnings": warnings}


def carry_out(one: Declaration, request: HttpRequest) -> list[str]:
    """Apply a declaration, and return the warnings.

    Raises:
        PermissionDenied, NotAuthorized: the caller may not do it.
        ChangedSinceRead: it is not what the request requires.
    """
    actor = authorities.name_of(request.user)
    with one_at_a_time():
        wanted = plan([one])
        require_rights(request.user, wanted.changes)  # type: ignore[arg-type]
        with warned.warned(request) as warnings:
            apply(wanted, expected=expected_by(request), actor=actor)
    return warnings


def expected_by(request: HttpRequest) -> str | None:
    """The version that a request requires: empty for a new object, None for any."""
    if request.headers.get("If-None-Match", "").strip() == "*":
        return ""
    given = request.headers.get("If-Match")
    if given is None or given.strip() == "*":
        return None
    found = ETAG.match(given.strip())
    return found[1] if found else "no version"


def values_of(kind: ObjectKind, key: Key, said: Mapping[str, Any]) -> dict[str, Any]:
    defaults = kind.defaults(key)
    return {
        name: defaults[name]
        if value is None
        else read_value(kind.attributes[name], value, name=name, where=name)
        for name, value in said.items()
        if value is not None or name in defaults
    }


def visible_object(kind: ObjectKind, key: Key, request: HttpRequest) -> Any:
    """The object of a key, if the caller may know that it exists."""
    row = kind.named(key).first()
    if row is None or not kind.is_visible(request.user, row):
        raise Http404(f"{kind.name} {key}")
    return row


def answered(kind: ObjectKind, row: Any, response: HttpResponse) -> dict[str, Any]:
    response.headers["ETag"] = f'"{version(kind, row)}"'
    return kind.describe(row)


def publish_all(*, queues: Router, bridges: Router) -> None:
    """Add the operations on all kinds.

    Args:
        queues, bridges: routers that have these paths for other methods already.
    """
    for each in published(router, {QUEUE: queues, BRIDGE: bridges, LINK: bridges}):
        publish(each)
