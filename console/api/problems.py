"""How the API refuses: problem details, as RFC 9457 has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

from broker.errors import BrokerError
from console.refusals import STATUS

CONTENT_TYPE = "application/problem+json"
CODES = {  # of what is refused before anything is asked for
    400: "bad-request",
    403: "csrf-failed",
    429: "too-many-requests",
}


class Problem(Schema):
    """Why something was refused."""

    title: str
    status: int
    code: str  # stable, and safe to match on
    detail: str  # for people: what was wrong, and what to do
    reason: int | None = None  # IBM MQ's code, where there is one
    errors: list[dict[str, Any]] | None = None  # what was invalid, and where


REFUSED = {401: Problem, 403: Problem, 404: Problem, 422: Problem}


def require(request: HttpRequest, permission: str) -> None:
    """Go on only with a permission, as the pages ask for it.

    Raises:
        PermissionDenied: this person does not have it.
    """
    if not request.user.has_perm(permission):
        raise PermissionDenied(f"The permission {permission} is missing.")


def register(api: NinjaAPI) -> None:
    """Let an API answer all that it refuses with a problem."""
    for kind, handler in HANDLERS.items():
        api.add_exception_handler(kind, handler)


def problem(status: int, title: str, **fields: Any) -> HttpResponse:
    content = {"type": "about:blank", "title": title, "status": status, **fields}
    return JsonResponse(content, status=status, content_type=CONTENT_TYPE)


def refused(request: HttpRequest, error: BrokerError) -> HttpResponse:
    """What the broker refuses, in its own words, with the status that pages have."""
    return problem(
        STATUS.get(type(error), 400),
        "The broker refuses this",
        code=error.code,
        detail=str(error),
        reason=int(error.reason),
    )


def unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem(
        401,
        "Nobody has signed in",
        code="not-signed-in",
        detail="Sign in, and send the cookie of that session.",
    )


def not_permitted(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return problem(
        403,
        "This needs a permission",
        code="not-permitted",
        detail=f"{error} An administrator can give it under Settings.".strip(),
    )


def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    detail = f"There is no {error}." if str(error) else "There is nothing here."
    return problem(404, "This does not exist", code="not-found", detail=detail)


def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [{"where": list(one["loc"]), "what": one["msg"]} for one in error.errors]
    return problem(
        422,
        "The request is invalid",
        code="invalid-request",
        detail="; ".join(
            f"{'.'.join(map(str, one['where']))}: {one['what']}" for one in errors
        ),
        errors=errors,
    )


def otherwise(request: HttpRequest, error: HttpError) -> HttpResponse:
    code = CODES.get(error.status_code, "refused")
    return problem(
        error.status_code, "The request is refused", code=code, detail=str(error)
    )


HANDLERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    BrokerError: refused,
    AuthenticationError: unauthenticated,
    PermissionDenied: not_permitted,
    Http404: not_found,
    ValidationError: invalid,
    HttpError: otherwise,
}
