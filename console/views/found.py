"""Messages on all queues and in all states, as a filter finds them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from broker.errors import BrokerError
from broker.errors.messages import InvalidFilter, SearchTooLong
from broker.errors.redaction import MaskedSearch
from broker.formats import filters
from broker.formats.filters import Filter
from broker.monitoring import search as finding
from console import (
    completions,
    cursors,
    exports,
    found,
    rights,
    saved_views,
    searches,
)
from console.refusals import status_of

PAGE = 50
DRAFT = 2000  # characters of a text that is put into the field
QUICK_S = 0.25  # a search that a page may repeat by itself


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def messages(request: HttpRequest) -> HttpResponse:
    """What a filter finds, the newest first; ``f`` is said once for each term."""
    texts = request.GET.getlist("f")
    began_s = perf_counter()
    try:
        search = searches.search(request.user, texts)
        if texts != [str(term) for term in search.filter.terms]:
            return redirect(found.url_of(search.filter))
        trail = cursors.Trail.of(request)
        try:
            page = finding.find(
                search.filter,
                within=search.within,
                after=trail.after,
                limit=PAGE,
                effort=found.SEARCH,
            )
        except ValueError:  # a cursor that nobody gave out
            return redirect(found.url_of(search.filter))
        count = found.counted(search, page, is_first=trail.is_first)
    except InvalidFilter as error:
        fault = searches.fault_of(texts, error)
        return stopped(
            request, fault.readable, fault.error, fault=fault, draft=fault.text
        )
    except (MaskedSearch, PermissionDenied, SearchTooLong) as refusal:
        return stopped(request, filters.parse(" ".join(texts)), refusal)
    rows = found.rows_of(page, search)
    took_s = perf_counter() - began_s
    is_empty = not rows and trail.is_first and not page.is_limited
    context = context_of(request, search.filter) | {
        "rows": rows,
        "page": trail,
        "next": trail.then(page.after) if page.after else None,
        "found": page,
        "count": count,
        "fewer": found.without_each(request.user, search.filter) if is_empty else [],
        "milliseconds": round(took_s * 1000),
        "looks_again": took_s < QUICK_S and not page.is_limited,
        "may_act": request.user.has_perm(rights.CHANGE) and any_at_hand(rows),
    }
    return render(request, "console/found/messages.html", context)


def any_at_hand(rows: list[found.Row]) -> bool:
    return any(row.found.is_at_hand for row in rows)


def stopped(
    request: HttpRequest,
    wanted: Filter,
    error: BrokerError | PermissionDenied,
    **more: Any,
) -> HttpResponse:
    """The page, when nothing was found because nothing could be looked for."""
    context = context_of(request, wanted) | {"error": error, "rows": []} | more
    context["is_forbidden"] = isinstance(error, PermissionDenied)
    status = 403 if isinstance(error, PermissionDenied) else status_of(error)
    return render(request, "console/found/messages.html", context, status=status)


def context_of(request: HttpRequest, wanted: Filter) -> dict[str, Any]:
    """What stands above the list, whatever is found."""
    views = saved_views.seen_by(request.user)
    return {
        "wanted": wanted,
        "chips": found.chips_of(wanted),
        "terms": found.query_of(wanted).removeprefix("?"),
        "draft": request.GET.get("draft", "")[:DRAFT],
        "options": completions.keys_like(),
        "views": views,
        "current": saved_views.current(views, wanted),
        "form": saved_views.SaveForm(),
    }


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def export(request: HttpRequest) -> HttpResponseBase:
    """All that a filter finds, as a file; bodies only where one may read them."""
    bodies = "bodies" in request.GET
    texts = request.GET.getlist("f")
    search = searches.search(request.user, texts, for_payloads=bodies)
    format_ = exports.ndjson_or_csv(request.GET.get("format", ""))
    why = request.GET.get("unmask", "")
    return exports.export(request, search, format_, bodies=bodies, why=why)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
@cache_control(private=True, max_age=30)
def complete(request: HttpRequest) -> HttpResponse:
    """What could stand at the end of a text; it adds to the filters in ``f``."""
    told = completions.complete(
        request.user, request.GET.getlist("f"), request.GET.get("text", "")
    )
    options = [{"value": one.value, "says": one.says} for one in told.options]
    return JsonResponse({"options": options, "said": told.said})
