"""The JSON API. It calls the same functions as the pages.

Every path begins with ``/api/v1/``; ``/api/v1/openapi.json`` describes them. Programs
send a credential (``Authorization: Bearer`` and its secret). A signed-in user may use
the session cookie; requests that change something then need the CSRF token (header
``X-CSRFToken``). Permissions and authorities are the same as for the pages.

Errors are RFC 9457 problem details, each with a stable ``code``. Responses to reads
have an ``ETag``; ``If-None-Match`` avoids sending the same content again. Requests that
change something accept an ``Idempotency-Key``: a repeated request with the same key is
not executed again and gets the first response.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings as options
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.http import ConditionalGetMiddleware
from django.urls import URLPattern, URLResolver, path
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.http import require_safe
from ninja import NinjaAPI, Router
from ninja.decorators import decorate_view
from ninja.errors import AuthenticationError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from console.accounts.api import credentials, rights
from console.alerts import api as alerts
from console.audit import api as audit
from console.bridges.api import bridges, documents
from console.configuration.api import addresses, definitions, settings
from console.consumers.api import connections, consumers, units_of_work
from console.dead_letters.api import discards, groups, letters, rules
from console.edges.rest import authentication, idempotency, problems, requests, throttle
from console.home import api as health
from console.messages.api import (
    branches,
    browsing,
    decisions,
    detail,
    edits,
    scheduled,
    search,
    sending,
    taking,
)
from console.messages.api import saved_views as views
from console.operations.api import operations, repairs
from console.queues import api as queues
from console.reports.api import reports
from console.topology import api as topology

PARTS = (
    *(search, detail, sending, taking, branches, decisions),
    *(queues, topology, browsing, letters),
    *(addresses, settings, definitions, operations, repairs),
    *(connections, credentials, audit, health, groups, rules, rights),
    *(reports, views, bridges, documents, alerts),
    *(discards, scheduled, scheduled.tasks, units_of_work, consumers, edits),
)
ROUTERS = [part if isinstance(part, Router) else part.router for part in PARTS]
SECRET = {"create_credential"}  # no idempotency key: the response is not stored
KEY = {
    "in": "header",
    "name": idempotency.HEADER,
    "required": False,
    "description": "The same request with the same key is executed only once.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": idempotency.LONGEST,
        "pattern": "^[!-~]+$",
    },
}


class Api(NinjaAPI):
    """The API's OpenAPI description: operation ids are function names, and errors have
    the media type of problem details.
    """

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        problem = problems.Problem
        template = "#/components/schemas/{model}"
        schema["components"]["schemas"][problem.__name__] = problem.model_json_schema(
            ref_template=template, mode="serialization"
        )
        error = {"schema": {"$ref": template.format(model=problem.__name__)}}
        for methods in schema["paths"].values():
            for method, operation in methods.items():
                if method == "post" and operation["operationId"] not in SECRET:
                    operation["parameters"].append(KEY)
                for status, answer in operation["responses"].items():
                    if int(status) >= 400:
                        answer["content"] = {problems.CONTENT_TYPE: error}
        return schema


def conditional(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let an operation answer 304 when the client already has the response."""

    @wraps(run)
    def answered(request: HttpRequest, **values: Any) -> HttpResponse:
        def look(request: HttpRequest) -> HttpResponse:
            answer: HttpResponse = run(request, **values)
            patch_vary_headers(answer, ["Authorization", "Cookie"])
            return answer

        answer = cast(HttpResponse, ConditionalGetMiddleware(look)(request))
        # Added last: Django sets no ETag on a response that must not be stored.
        patch_cache_control(answer, private=True, no_store=True)
        return answer

    return answered


api = Api(
    title="Backout",
    version="1",
    description=__doc__ or "",
    urls_namespace="backout_api",
    openapi_url=None,
    docs_url=None,  # that page loads scripts from another site; see ``reference``
    auth=authentication.WAYS,
    throttle=throttle.LIMIT,
    parser=requests.JsonParser(),
)
definitions.publish_all(queues=browsing.router, bridges=bridges.router)
for router in ROUTERS:
    for path_view in router.path_operations.values():
        for one in path_view.operations:
            requests.refuse_unknown_parameters(one)
            if "GET" in one.methods:
                decorate_view(conditional)(one.view_func)
            elif one.methods == ["POST"] and one.view_func.__name__ not in SECRET:
                decorate_view(idempotency.once)(one.view_func)
    api.add_router("", router)
problems.register(api)


@cache
def document() -> OpenAPISchema:
    """The OpenAPI document; it does not change while the process runs."""
    return api.get_openapi_schema()


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document, for authenticated clients, or for all by a setting."""
    if not (options.BACKOUT_OPENAPI_IS_PUBLIC or authentication.is_known(request)):
        return problems.unauthenticated(request, AuthenticationError())
    return JsonResponse(document())


def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """The response for a path that has no operation, and for the root."""
    return problems.not_found(request, Http404())


def answering_itself(view: Callable[..., Any]) -> Callable[..., Any]:
    """A view that answers 401 itself instead of a redirect to the sign-in page, and 405
    with problem details.
    """

    @wraps(view)
    def answered(request: HttpRequest, **values: Any) -> HttpResponse:
        answer: HttpResponse = view(request, **values)
        if answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return problems.not_allowed(request, answer.headers["Allow"])
        return answer

    answered.login_required = False  # type: ignore[attr-defined]
    return answered


def urls() -> list[URLPattern | URLResolver]:
    """The URL patterns of the API, to be included."""
    patterns, *_ = api.urls
    patterns.insert(0, path("", nothing, name="root"))
    patterns.insert(1, path("openapi.json", openapi, name="openapi"))
    patterns.append(path("<text:rest>", nothing, name="nothing"))
    for one in patterns:
        assert one.callback is not None, "the API includes nothing further"
        one.callback = answering_itself(one.callback)
    return patterns
