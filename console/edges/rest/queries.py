"""Queries as operations of the REST interface: ``GET`` with parameters, or ``POST``
with a body where a parameter would be too long."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from ninja import Query, Router, Schema
from pydantic import create_model

from console.edges.answers import as_json
from console.edges.queries import DeclaredQuery
from console.edges.rest.acts import BODY, member_of
from console.edges.rest.operations import (
    add_operation,
    fields_in_path,
    schema_name,
)
from console.edges.rest.requests import RequestBody

ASKED = "parameters"


def serve_query(
    router: Router, path: str, one: DeclaredQuery, *, method: str = "GET", **names: str
) -> None:
    """Add a query to a router.

    Args:
        router: of the part of the interface.
        path: a route of Django, whose parameters name fields of the request.
        one: the query; its other fields are parameters, or the body.
        method: of HTTP.
        names: fields of the request, by parameters of the path that differ from them.
    """
    in_path = fields_in_path(path, names)
    rest = [field for field in one.fields if field.name not in in_path.values()]
    is_get = method == "GET"
    asked = ASKED if is_get else BODY

    def view(request: HttpRequest, **given: Any) -> Any:
        parameters = given.pop(asked, None)
        values = {in_path[name]: value for name, value in given.items()}
        values |= {field.name: getattr(parameters, field.name) for field in rest}
        return JsonResponse(as_json(one, one(request.user, one.request(**values))))

    others: dict[str, Any] = {}
    if rest:
        members: Any = {field.name: member_of(field) for field in rest}
        base = Schema if is_get else RequestBody
        model = create_model(schema_name(one), __base__=base, **members)
        others[asked] = Query[model] if is_get else model  # type: ignore[misc,valid-type]
    permissions = " and ".join(f"`{name}`" for name in one.permissions)
    needs = f"Needs the permission {permissions}." if permissions else ""
    add_operation(router, method, path, one, view, in_path, others, needs=needs)
