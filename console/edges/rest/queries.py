"""Queries as operations of the REST interface: ``GET`` with parameters."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

from django.http import HttpRequest, JsonResponse
from ninja import Path, Query, Router, Schema
from pydantic import create_model

from console.edges.answers import as_json
from console.edges.queries import DeclaredQuery
from console.edges.rest.acts import member_of, parameters_of
from console.edges.rest.problems import REFUSED

ASKED = "parameters"


def serve_query(router: Router, path: str, one: DeclaredQuery, **names: str) -> None:
    """Add a query to a router.

    Args:
        router: of the part of the interface.
        path: a route of Django, whose parameters name fields of the request.
        one: the query; its other fields are parameters.
        names: fields of the request, by parameters of the path that differ from them.
    """
    in_path = {name: names.get(name, name) for name in parameters_of(path)}
    rest = [field for field in one.fields if field.name not in in_path.values()]

    def view(request: HttpRequest, **given: Any) -> Any:
        parameters = given.pop(ASKED, None)
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
        annotations[ASKED] = Query[create_model(name, __base__=Schema, **members)]  # type: ignore[misc]
    view.__name__ = one.name
    view.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
            for name, kind in annotations.items()
        ]
    )
    router.api_operation(
        ["GET"],
        path,
        response={200: one.answer, **REFUSED},
        summary=one.sentence.removesuffix("."),
        description=described(one),
    )(view)


def described(one: DeclaredQuery) -> str:
    needs = f"Needs the permission `{one.permission}`." if one.permission else ""
    return " ".join(filter(None, (one.sentence, one.details, needs)))
