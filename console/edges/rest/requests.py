"""Requests of the API: JSON with known fields, and known query parameters.

A request with an unknown field or parameter is refused, and the error names it. A
client that misspells a field would otherwise not learn that the API ignored it.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn, Self, cast

from django.http import Http404, HttpRequest
from ninja import NinjaAPI, Schema
from ninja.errors import ValidationError
from ninja.operation import Operation
from ninja.params.models import ParamModel, QueryModel
from ninja.parser import Parser
from pydantic import (
    ConfigDict,
    ModelWrapValidatorHandler,
    create_model,
    model_validator,
)

from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json
from broker.formats.patches.documents import LONGEST
from broker.models import Queue


class NotJson(ValueError):
    """A number that Python reads, but that is not JSON or cannot be stored."""


class RequestBody(Schema):
    """The base of everything that a body consists of: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(
        cls, values: Any, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        """Validate once. Ninja's method validates such schemas twice, to read objects
        of the ORM; a body has none.
        """
        return handler(values)


class Nothing(RequestBody):
    """An empty body."""


class JsonParser(Parser):
    """Reads JSON as RFC 8259 defines it: without NaN and Infinity."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        content = json.loads(request.body, parse_constant=no_json, parse_float=finite)
        return cast(dict[str, Any], content)


def no_json(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON")


def finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise NotJson(f"{text[:40]} is larger than any number that can be stored")
    return number


class KnownParameters(QueryModel):
    """Refuses query parameters that an operation does not have."""

    @classmethod
    def get_request_data(
        cls, request: HttpRequest, api: NinjaAPI, path_params: dict[str, Any]
    ) -> dict[str, Any] | None:
        known: dict[str, Any] = getattr(cls, "__ninja_flatten_map__", {})
        unknown = [name for name in request.GET if name not in known]
        if unknown:
            names = ", ".join(sorted(known))
            told = f"The parameters are: {names}" if known else "There are none here"
            what = f"This parameter does not exist. {told}."
            raise ValidationError(
                [{"loc": ["query", name], "msg": what} for name in unknown]
            )
        return super().get_request_data(request, api, path_params)


def refuse_unknown_parameters(operation: Operation) -> None:
    """Make an operation refuse query parameters that it does not have."""
    queries = [one for one in operation.models if issubclass(one, QueryModel)]
    others = [one for one in operation.models if not issubclass(one, QueryModel)]
    strict: list[type[ParamModel]] = [
        create_model(one.__name__, __base__=(KnownParameters, one)) for one in queries
    ]
    operation.models = [*(strict or [KnownParameters]), *others]


def read_json(request: HttpRequest) -> Any:
    """The JSON of the request, with all digits of numbers.

    Raises:
        InvalidPatch: not valid JSON.
    """
    if len(request.body) > 4 * LONGEST:
        raise InvalidPatch(f"it is longer than {4 * LONGEST:,} bytes")
    try:
        return lossless_json.loads(request.body.decode())
    except ValueError as error:
        raise InvalidPatch(f"it is not JSON: {error}") from None


def named(name: str) -> Queue:
    found = Queue.objects.filter(name=name).first()
    if found is None:
        raise Http404(f"queue {name}")
    return found
