"""Every endpoint that the project answers at: by its URLs, and its API's document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import get_converters

from console import api

PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")  # converter and name
METHODS = ("get", "post", "put", "patch", "delete")
API = "api/v1/"
ANY: dict[str, Any] = {
    "int": 1,
    "slug": "any",
    "queue": "any",
    "path": "a",
    "text": "a",
}


class Endpoint(NamedTuple):
    """One method of one URL pattern."""

    method: str
    route: str  # without the first slash
    name: str  # of the view, with its namespace; or the operation's id

    def __str__(self) -> str:
        return f"{self.method.upper()} /{self.route}"

    @property
    def is_of_the_api(self) -> bool:
        return self.route.startswith(API)

    @property
    def parameters(self) -> dict[str, str]:
        """Converters, by the names of what stands in the URL."""
        return {name: kind or "str" for kind, name in PARAMETER.findall(self.route)}


def some(every: Iterable[Endpoint], size: int) -> list[Any]:
    """A part of the endpoints for each of several tests: one test would last long, and
    each makes its principals and its world anew."""
    listed = list(every)
    parts = [listed[start : start + size] for start in range(0, len(listed), size)]
    return [pytest.param(part, id=str(part[0])) for part in parts]


def at(route: str, values: dict[str, Any]) -> str:
    """The URL of a route with these in it."""

    def written(match: re.Match[str]) -> str:
        converter = get_converters()[match[1] or "str"]
        return converter.to_url(values[match[2]])

    return "/" + PARAMETER.sub(written, route)


def patterns(
    resolver: URLResolver | None = None, before: str = "", space: str = ""
) -> Iterator[tuple[str, str]]:
    """Routes and names of all URL patterns, but for those of the settings' site, which
    asks Django's permissions of each model, and those of the API, which describes
    itself."""
    for one in (resolver or get_resolver()).url_patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield route, f"{space}{one.name}" if one.name else f"{space}unnamed"
        elif one.namespace not in ("backout_api", "console_settings"):
            inner = f"{one.namespace}:" if one.namespace else ""
            yield from patterns(one, route, space + inner)


def pages(status_of: Callable[[str, str], int]) -> Iterator[Endpoint]:
    """Each method of each page that is not refused as a method.

    Args:
        status_of: an answer to a method and a URL.
    """
    for route, name in patterns():
        kinds = Endpoint("get", route, name).parameters
        url = at(route, {one: ANY[kind] for one, kind in kinds.items()})
        for method in METHODS:
            if status_of(method, url) != 405:
                yield Endpoint(method, route, name)


def operations() -> Iterator[Endpoint]:
    """Each operation of the API's document, and the document itself."""
    routes = {
        f"/{API}{PARAMETER.sub(lambda one: f'{{{one[2]}}}', route)}": f"{API}{route}"
        for route in (str(one.pattern) for one in api.urls())
    }
    for path, methods in api.document()["paths"].items():
        for method, operation in methods.items():
            yield Endpoint(method, routes[path], operation["operationId"])
    yield Endpoint("get", f"{API}openapi.json", "openapi")
    for method in METHODS:
        yield Endpoint(method, f"{API}<text:rest>", "nothing")
