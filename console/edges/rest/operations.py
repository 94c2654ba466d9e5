"""Declared acts and queries as operations of the REST interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any

from ninja import Path, Router

from broker.acts import DeclaredAct
from console.edges.queries import DeclaredQuery
from console.edges.rest.problems import REFUSED


def fields_in_path(path: str, names: Mapping[str, str]) -> dict[str, str]:
    """The fields of a request that a path names, by its parameters.

    Args:
        path: a route, with parameters as "{converter:name}".
        names: fields whose parameters are called otherwise, by parameter.
    """
    parts = (part.partition("}")[0] for part in path.split("{")[1:])
    parameters = (part.rpartition(":")[2] for part in parts)
    return {name: names.get(name, name) for name in parameters}


def schema_name(one: DeclaredAct | DeclaredQuery) -> str:
    return "".join(word.capitalize() for word in one.name.split("_"))


def add_operation(  # noqa: PLR0913  # all are facts of one operation
    router: Router,
    method: str,
    path: str,
    one: DeclaredAct | DeclaredQuery,
    view: Callable[..., Any],
    in_path: Mapping[str, str],
    others: Mapping[str, Any],
    *,
    needs: str,
    **more: Any,
) -> None:
    """Add a view to a router, with the texts of a declaration.

    Args:
        router: of the part of the interface.
        method: of HTTP.
        path: a route of Django.
        one: the act or query.
        view: it takes the parameters of the path and the others by name.
        in_path: the fields of the request that the path names, by parameter.
        others: types of the view's other parameters, by name.
        needs: a sentence on what the caller needs; may be empty.
        more: further options of ninja.
    """
    types = {field.name: field.type for field in one.fields}
    annotations: dict[str, Any] = {
        name: Annotated[types[field], Path(...)] for name, field in in_path.items()
    }
    view.__name__ = one.name
    view.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
            for name, kind in {**annotations, **others}.items()
        ]
    )
    router.api_operation(
        [method],
        path,
        response={200: one.answer, **REFUSED},
        summary=one.sentence.removesuffix("."),
        description=" ".join(filter(None, (one.sentence, one.details, needs))),
        **more,
    )(view)
