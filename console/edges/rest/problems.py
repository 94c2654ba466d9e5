"""Errors of the API as problem details (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError

from broker.errors import BrokerError
from broker.errors.acts import InvalidRequest
from broker.errors.bridges import WrongBridge
from broker.errors.messages import InvalidFilter
from broker.errors.rules import InvalidRules
from console.edges import denials, hidden, permissions
from console.edges.rest.throttle import LIMIT
from console.edges.web.error_responses import status_of

CONTENT_TYPE = "application/problem+json"
NO_NUL = r"^[^\x00]*$"  # PostgreSQL cannot store a NUL character in text
CODES = {  # codes of requests that are refused before an operation runs
    400: "bad-request",
    403: "csrf-failed",
}


class Problem(Schema):
    """An error."""

    title: str
    status: int
    code: str  # stable, and safe to match on
    detail: str  # for people: the error, and what to do
    reason: int | None = None  # IBM MQ's code, where there is one
    # IBM MQ's completion code: 1 a warning, 2 failed
    completion: int | None = None
    errors: list[dict[str, Any]] | None = None  # invalid fields, and their positions


# Without a schema: the document refers to that of all errors (``console.api.Api``).
REFUSED = dict.fromkeys((400, 401, 403, 404, 409, 412, 413, 422, 429, 503))


def require(request: HttpRequest, permission: str) -> None:
    """Check a permission, as the pages do.

    Raises:
        PermissionDenied: the caller lacks it.
    """
    if not permissions.may(request.user, permission):
        raise PermissionDenied(f"The permission {permission} is missing.")


def register(api: NinjaAPI) -> None:
    """Make an API answer all errors with problem details."""
    for kind, handler in HANDLERS.items():
        api.add_exception_handler(kind, handler)


def problem(status: int, title: str, **fields: Any) -> HttpResponse:
    content = {"type": "about:blank", "title": title, "status": status, **fields}
    return JsonResponse(content, status=status, content_type=CONTENT_TYPE)


def refused(request: HttpRequest, error: BrokerError) -> HttpResponse:
    """An error of the broker: its own text, and the status that pages use."""
    denials.note(request, error)
    if hidden.hides(request, error):
        return not_found(request, Http404())
    return problem(
        status_of(error),
        "The broker refuses this",
        code=error.code,
        detail=str(error),
        reason=int(error.reason),
        completion=int(error.completion),
        **faults_of(error, "query" if request.method in denials.LOOKING else "body"),
    )


def faults_of(error: BrokerError, part: str) -> dict[str, Any]:
    """Positions of the errors in a part of the request, or in a text, such as a
    selector or a rule table."""
    if isinstance(error, InvalidRequest):
        wrong = [
            {"where": [part, name] if name else [part], "what": why}
            for name, why in error.faults
        ]
        return {"errors": wrong}
    if isinstance(error, WrongBridge):
        return {"errors": [{"what": one} for one in error.problems]}
    if isinstance(error, InvalidRules):
        places = [(["text", one.line, one.column], one.why) for one in error.faults]
        return {"errors": [{"where": at, "what": why} for at, why in places]}
    if not isinstance(error, InvalidFilter):
        return {}
    return {"errors": [{"where": ["filter", error.position], "what": error.why}]}


def unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    if not LIMIT.allow_stranger(request):
        return too_many(request, Throttled(int(LIMIT.wait())))
    answer = problem(
        401,
        "Nobody has signed in",
        code="not-signed-in",
        detail="Sign in, and send the cookie of that session; or send a credential that"
        " is good, with “Authorization: Bearer” and its secret.",
    )
    answer.headers["WWW-Authenticate"] = 'Bearer realm="Backout"'
    return answer


def not_permitted(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    denials.note(request, error)
    return problem(
        403,
        "This needs a permission",
        code="not-permitted",
        detail=f"{error} An administrator can give it under Settings.".strip(),
    )


def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    """The same response for what does not exist and for what the caller may not see."""
    detail = "There is nothing here, or nothing that you may see."
    return problem(404, "This does not exist", code="not-found", detail=detail)


def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [{"where": list(one["loc"]), "what": fault(one)} for one in error.errors]
    return problem(
        422,
        "The request is invalid",
        code="invalid-request",
        detail="; ".join(
            f"{'.'.join(map(str, one['where']))}: {one['what']}" for one in errors
        ),
        errors=errors,
    )


def fault(one: dict[str, Any]) -> str:
    if one.get("type") == "extra_forbidden":
        return "This field does not exist. Correct its name, or leave it out."
    return str(one["msg"])


def otherwise(request: HttpRequest, error: HttpError) -> HttpResponse:
    code = CODES.get(error.status_code, "refused")
    detail = str(error)
    if isinstance(error.__cause__, ValueError):  # an error from reading the body
        detail = (
            f"The body of the request cannot be read: {error.__cause__}."
            " Correct it and send it again."
        )
    return problem(
        error.status_code, "The request is refused", code=code, detail=detail
    )


def too_many(request: HttpRequest, error: Throttled) -> HttpResponse:
    most: int = settings.BACKOUT_API_REQUESTS_PER_MINUTE
    seconds = math.ceil(error.wait or 0) + 1
    answer = problem(
        429,
        "Too many requests",
        code="too-many-requests",
        detail=f"A client may send {most:,} requests a minute"
        f" (BACKOUT_API_REQUESTS_PER_MINUTE). Send it again in {seconds} s.",
    )
    answer.headers["Retry-After"] = str(seconds)
    return answer


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """The response to a method that a path does not have."""
    answer = problem(
        405,
        "The path does not take this method",
        code="method-not-allowed",
        detail=f"This path takes {allowed}, not {request.method}.",
    )
    answer.headers["Allow"] = allowed
    return answer


def too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    most: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return problem(
        413,
        "The request is too large",
        code="request-too-large",
        detail=f"At most {most:,} bytes are accepted at once"
        " (BACKOUT_MAX_REQUEST_BYTES). Send it in parts, or over AMQP.",
    )


HANDLERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    BrokerError: refused,
    AuthenticationError: unauthenticated,
    PermissionDenied: not_permitted,
    Http404: not_found,
    RequestDataTooBig: too_large,
    ValidationError: invalid,
    Throttled: too_many,
    HttpError: otherwise,
}
