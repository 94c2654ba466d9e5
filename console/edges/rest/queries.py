"""Queries as operations of the REST interface: ``GET`` with parameters, or ``POST``
with a body where a parameter would be too long."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

from django.http import HttpRequest, JsonResponse
from ninja import Path, Query, Router, Schema
from pydantic import create_model

from console.edges.answers import as_json
from console.edges.queries import DeclaredQuery
from console.edges.rest.acts import BODY, member_of, parameters_of
from console.edges.rest.problems import REFUSED
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
    in_path = {name: names.get(name, name) for name in parameters_of(path)}
    rest = [field for field in one.fields if field.name not in in_path.values()]
    is_get = method == "GET"
    asked = ASKED if is_get else BODY

    def view(request: HttpRequest, **given: Any) -> Any:
        parameters = given.pop(asked, None)
        values = {in_path[name]: value for name, value in given.items()}
        values |= {field.name: getattr(parameters, field.name) for field in rest}
        return JsonResponse(as_json(one, one(request.user, one.request(**values))))

    types = {field.name: field.type for field in one.fields}
    annotations: dict[str, Any] = {
        name: Annotated[types[field], Path(...)] for name, field in in_path.items()
    }
    if rest:
        members: Any = {field.name: member_of(field) for field in rest}
        name = "".join(word.capitalize() for word in one.name.split("_"))
        base = Schema if is_get else RequestBody
        model = create_model(name, __base__=base, **members)
        annotations[asked] = Query[model] if is_get else model  # type: ignore[misc,valid-type]
    view.__name__ = one.name
    view.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
            for name, kind in annotations.items()
        ]
    )
    router.api_operation(
        [method],
        path,
        response={200: one.answer, **REFUSED},
        summary=one.sentence.removesuffix("."),
        description=described(one),
    )(view)


def described(one: DeclaredQuery) -> str:
    needs = f"Needs the permission `{one.permission}`." if one.permission else ""
    return " ".join(filter(None, (one.sentence, one.details, needs)))
