"""The console's API: what pages show and do, as JSON, by the same functions.

Everything is under ``/api/v1/`` and described in ``/api/v1/openapi.json``. Whoever has
signed in may ask, by the session's cookie; what changes something needs the token
against forged requests, too (header ``X-CSRFToken``). Permissions and authorities are
those of the pages. Errors are problems by RFC 9457, each with a ``code`` that is stable
and safe to match on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, URLResolver, path
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.errors import AuthenticationError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from ninja.security import SessionAuth

from console.api import addresses, messages, operations, problems, queues


class Api(NinjaAPI):
    """As it describes itself: an operation has its function's name, and a problem is
    not plain JSON."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        for methods in schema["paths"].values():
            for operation in methods.values():
                for status, answer in operation["responses"].items():
                    if int(status) >= 400:
                        content = answer["content"].pop("application/json")
                        answer["content"][problems.CONTENT_TYPE] = content
        return schema


api = Api(
    title="Backout",
    version="1",
    description=__doc__ or "",
    urls_namespace="api",
    openapi_url=None,
    docs_url=None,  # it would load scripts from elsewhere
    auth=SessionAuth(),
)
for router in (messages.router, queues.router, addresses.router, operations.router):
    api.add_router("", router)
problems.register(api)


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """What there is to ask, for whoever has signed in."""
    if not request.user.is_authenticated:
        return problems.unauthenticated(request, AuthenticationError())
    return JsonResponse(api.get_openapi_schema())


def answering_itself(view: Callable[..., Any]) -> Callable[..., Any]:
    """A view that says itself that one must sign in; no page to do so is of use."""
    view.login_required = False  # type: ignore[attr-defined]
    return view


def urls() -> list[URLPattern | URLResolver]:
    """The routes, to be included."""
    patterns, *_ = api.urls
    patterns.insert(0, path("openapi.json", openapi, name="openapi"))
    for one in patterns:
        assert one.callback is not None, "the API includes nothing further"
        answering_itself(one.callback)
    return patterns
