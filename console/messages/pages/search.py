"""Messages on all queues and in all states, as a filter finds them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from broker.errors import BrokerError
from broker.errors.acts import PayloadsNotPermitted
from broker.errors.messages import InvalidFilter, SearchTooLong
from broker.errors.redaction import MaskedSearch
from broker.formats import filters
from broker.formats.filters import Filter
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from console.edges import permissions
from console.edges.web.error_responses import status_of
from console.layout import pagination, search_links
from console.messages import autocomplete, filter_faults, saved_views, search_results
from console.messages import export as exports
from console.messages.pages.saved_views import SaveForm

PAGE = 50
DRAFT = 2000  # the most characters of the text in the search field
QUICK_S = 0.25  # a page repeats a search by itself only if it takes less


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def messages(request: HttpRequest) -> HttpResponse:
    """The messages that match a filter, the newest first; each ``f`` is one term."""
    texts = request.GET.getlist("f")
    began_s = perf_counter()
    try:
        search = visible_search.search(request.user, texts)
        if texts != [str(term) for term in search.filter.terms]:
            return redirect(search_links.url_of(search.filter))
        trail = pagination.Trail.of(request)
        try:
            page = finding.find(
                search.filter,
                within=search.within,
                after=trail.after,
                limit=PAGE,
                effort=search_results.SEARCH,
            )
        except ValueError:  # the cursor is not one of this list
            return redirect(search_links.url_of(search.filter))
        count = search_results.counted(
            search,
            page,
            is_first=trail.is_first,
            took_s=perf_counter() - began_s,
        )
    except InvalidFilter as error:
        fault = filter_faults.fault_of(texts, error)
        return stopped(
            request, fault.readable, fault.error, fault=fault, draft=fault.text
        )
    except (MaskedSearch, PayloadsNotPermitted, SearchTooLong) as refusal:
        return stopped(request, filters.parse(" ".join(texts)), refusal)
    rows = search_results.rows_of(page, search)
    took_s = perf_counter() - began_s
    is_empty = not rows and trail.is_first and not page.is_limited
    context = context_of(request, search.filter) | {
        "rows": rows,
        "page": trail,
        "next": trail.then(page.after) if page.after else None,
        "found": page,
        "count": count,
        "fewer": search_results.without_each(request.user, search.filter)
        if is_empty
        else [],
        "milliseconds": round(took_s * 1000),
        "looks_again": took_s < QUICK_S and not page.is_limited,
        "may_act": request.user.has_perm(permissions.CHANGE) and any_at_hand(rows),
    }
    return render(request, "console/messages/found/messages.html", context)


def any_at_hand(rows: list[search_results.SearchResultRow]) -> bool:
    return any(row.found.is_at_hand for row in rows)


def stopped(
    request: HttpRequest,
    wanted: Filter,
    error: BrokerError,
    **more: Any,
) -> HttpResponse:
    """The page with the error when a filter could not be searched."""
    context = context_of(request, wanted) | {"error": error, "rows": []} | more
    context["is_forbidden"] = isinstance(error, PayloadsNotPermitted)
    status = status_of(error)
    return render(
        request, "console/messages/found/messages.html", context, status=status
    )


def context_of(request: HttpRequest, wanted: Filter) -> dict[str, Any]:
    """The context of the parts above the list."""
    views = saved_views.views_of(request.user)
    return {
        "wanted": wanted,
        "chips": search_results.chips_of(wanted),
        "terms": search_links.query_of(wanted).removeprefix("?"),
        "draft": request.GET.get("draft", "")[:DRAFT],
        "options": autocomplete.keys_like(),
        "views": views,
        "current": saved_views.current(views, wanted),
        "form": SaveForm(),
    }


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def export(request: HttpRequest) -> HttpResponseBase:
    """All messages that match a filter as a file; bodies only for their readers."""
    bodies = "bodies" in request.GET
    texts = request.GET.getlist("f")
    search = visible_search.search(request.user, texts, for_payloads=bodies)
    format_ = exports.ndjson_or_csv(request.GET.get("format", ""))
    why = request.GET.get("unmask", "")
    return exports.export(request, search, format_, bodies=bodies, why=why)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def complete(request: HttpRequest) -> HttpResponse:
    """Completions of a text that is added to the filter terms in ``f``."""
    told = autocomplete.complete(
        request.user, request.GET.getlist("f"), request.GET.get("text", "")
    )
    options = [{"value": one.value, "says": one.says} for one in told.options]
    return JsonResponse({"options": options, "said": told.said})
