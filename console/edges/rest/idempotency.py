"""Idempotent requests: a repeated request is executed once.

A client that got no response cannot know whether its request was executed. With an
``Idempotency-Key`` it repeats the request and gets the first response. The response is
stored in the same transaction as the change, so one exists if, and only if, the change
was made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from psycopg.errors import LockNotAvailable

from broker.errors import BrokerError
from broker.errors.answers import StillUnderWay
from broker.operations import idempotency
from console.edges import denials
from console.edges.rest import authentication, problems

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST = 255
Run = Callable[..., HttpResponse]


def once(run: Run) -> Run:
    """Make an operation return its first response again for the same key."""

    @wraps(run)
    def answered(request: HttpRequest, **values: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None or not authentication.is_known(request):
            return run(request, **values)
        if not (0 < len(key) <= LONGEST and key.isascii() and key.isprintable()):
            return problems.problem(
                400,
                "The request is refused",
                code="invalid-idempotency-key",
                detail=f"{HEADER} takes 1 to {LONGEST} printable characters of ASCII.",
            )
        try:
            with denials.after_rollback(request):
                return stored_response(run, request, key, values)
        except BrokerError as error:
            return problems.refused(request, error)
        except RequestDataTooBig as error:
            return problems.too_large(request, error)

    return answered


def stored_response(
    run: Run, request: HttpRequest, key: str, values: dict[str, Any]
) -> HttpResponse:
    """The stored response for the key, or the new response, which is stored.

    An error rolls everything back and is not stored: the key can be used again.

    Raises:
        AnotherRequest: the key was used for a different request.
        StillUnderWay: the first request is still running.
    """
    asker, asked = authentication.asker(request), digest_of(request)
    try:
        with transaction.atomic():
            before = idempotency.claim(asker, key, asked)
            if before is not None:
                answer = HttpResponse(
                    before.body, status=before.status, content_type=before.content_type
                )
                answer.headers[REPLAYED] = "true"
                return answer
            answer = run(request, **values)
            if answer.status_code >= 400:
                transaction.set_rollback(True)
                return answer
            idempotency.keep(
                asker,
                key,
                idempotency.Answer(
                    answer.status_code, answer.headers["Content-Type"], answer.content
                ),
            )
            return answer
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise StillUnderWay(key) from error
        raise


def digest_of(request: HttpRequest) -> bytes:
    """A digest of the request: equal for equal requests."""
    asked = hashlib.sha256()
    for part in (request.method or "", request.get_full_path(), request.content_type):
        asked.update((part or "").encode() + b"\0")
    asked.update(request.body)
    return asked.digest()
