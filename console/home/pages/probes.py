"""Probes of a web process for machines: liveness, readiness and metrics. They need no
sign-in, and no answer contains a secret."""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from hmac import compare_digest
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from broker.checks import refuse_unsafe_server
from broker.errors import BrokerError, UnsafeServer
from broker.monitoring import disk
from dashboards.live import problems
from dashboards.metrics import collector

logger = logging.getLogger(__name__)

# headers that show that a request came through a proxy
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
NO_DATABASE = "The database does not answer."
DEADLINE_S = 3.0
ASKING = ThreadPoolExecutor(max_workers=1, thread_name_prefix="readiness")


@login_not_required
@require_safe
@never_cache
def alive(request: HttpRequest) -> HttpResponse:
    """Liveness: the process answers; nothing else is checked."""
    return JsonResponse({"alive": True})


@login_not_required
@require_safe
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """Readiness: 200, or 503 with what is missing. For those who may read metrics, with
    ``?verbose`` also what is wrong now, which does not make it unready."""
    missing = in_time(lacks)
    answer: dict[str, Any] = {"ready": not missing, "missing": missing}
    if "verbose" in request.GET and NO_DATABASE not in missing:
        if not may_scrape(request):
            return refused()
        answer["problems"] = in_time(wrong)
    return JsonResponse(answer, status=503 if missing else 200)


def wrong() -> list[dict[str, Any]]:
    """What is wrong now; without a token, only how many problems of each condition."""
    found = problems.now()
    if settings.BACKOUT_METRICS_TOKEN:
        return [asdict(one.state) for one in found]
    counts = Counter(one.condition for one in found)
    return [{"condition": name, "problems": many} for name, many in counts.items()]


def in_time(question: Callable[[], list[Any]]) -> list[Any]:
    """The answer, or that the database gave none in time.

    A frozen PostgreSQL keeps its connections and never answers, and none of its own
    time-outs helps. All probes ask in one thread, so that no more threads hang with it.
    """
    try:
        return ASKING.submit(ask_database, question).result(DEADLINE_S)
    except TimeoutError:
        logger.warning("A probe had no answer of the database in %s s.", DEADLINE_S)
        return [NO_DATABASE]


def ask_database(question: Callable[[], list[Any]]) -> list[Any]:
    try:
        return question()
    finally:
        connection.close()


def lacks() -> list[str]:
    """Sentences about what is missing before requests can be answered."""
    try:
        applied = MigrationRecorder(connection).applied_migrations()
        refuse_unsafe_server()
    except UnsafeServer as error:
        return [str(error)]
    except DatabaseError:
        logger.warning("A probe found no database.", exc_info=True)
        return [NO_DATABASE]
    found = disk.look()
    full = [str(found)] if found is not None and found.is_full else []
    return full + [
        f"Migration {app}.{name} is not applied; run manage.py migrate."
        for app, name in sorted(known_migrations() - applied.keys())
    ]


@cache
def known_migrations() -> set[tuple[str, str]]:
    """All migrations of this code; constant while the process runs."""
    return set(MigrationLoader(None).disk_migrations)


@login_not_required
@require_safe
@never_cache
def numbers(request: HttpRequest) -> HttpResponse:
    """The metrics in the format of Prometheus, for clients with the token. If no token
    is set: only for this machine, and without the names of queues and links."""
    if not may_scrape(request):
        return refused()
    try:
        text = collector.exposition(named=bool(settings.BACKOUT_METRICS_TOKEN))
    except (BrokerError, DatabaseError):
        logger.warning("The metrics cannot be read.", exc_info=True)
        return plain(NO_DATABASE, 503)
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def may_scrape(request: HttpRequest) -> bool:
    """Whether the client may read the metrics. A request through a proxy counts as one
    from another machine, wherever the proxy is."""
    token: str = settings.BACKOUT_METRICS_TOKEN
    if token:
        given = request.headers.get("Authorization", "")
        return compare_digest(given.encode(), f"Bearer {token}".encode())
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a Unix socket has no address
        return False


def refused() -> HttpResponse:
    if settings.BACKOUT_METRICS_TOKEN:
        answer = plain("Send the token: Authorization: Bearer …", 401)
        answer.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    return plain(
        "Metrics are for this machine alone. Set BACKOUT_METRICS_TOKEN and send it as a"
        " bearer token to read them from elsewhere.",
        403,
    )


def plain(sentence: str, status: int) -> HttpResponse:
    content_type = "text/plain; charset=utf-8"
    return HttpResponse(f"{sentence}\n", status=status, content_type=content_type)
