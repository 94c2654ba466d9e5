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
from broker.monitoring.visible_search import Search
from console.bodies import own_values
from console.edges import permissions
from console.edges.web.error_responses import status_of
from console.layout import search_links
from console.layout.pagination import Trail
from console.messages import (
    autocomplete,
    filter_faults,
    saved_views,
    search_results,
    search_slices,
)
from console.messages import export as exports
from console.messages.pages.saved_views import SaveForm
from console.messages.search_slices import SoFar

PAGE = 50
DRAFT = 2000  # the most characters of the text in the search field
QUICK_S = 0.25  # a page repeats a search by itself only if it takes less


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def messages(request: HttpRequest) -> HttpResponse:
    """The messages that match a filter, the newest first; each ``f`` is one term. With
    ``slice``, only what a further slice of the search adds to the page."""
    texts = request.GET.getlist("f")
    began_s = perf_counter()
    try:
        search = visible_search.search(request.user, texts)
        if texts != [str(term) for term in search.filter.terms]:
            return redirect(search_links.url_of(search.filter))
        trail = Trail.of(request)
        try:
            before = search_slices.continued_by(request)
            page = find(search, trail, before)
        except ValueError:  # the cursor is not one of this list
            return redirect(search_links.url_of(search.filter))
        took_s = perf_counter() - began_s
        so_far = (before or SoFar()).then(page, round(1000 * took_s))
        count = so_far.count
        if before is None:
            count = search_results.counted(
                search, page, is_first=trail.is_first, took_s=took_s
            )
    except InvalidFilter as error:
        fault = filter_faults.fault_of(texts, error)
        return stopped(
            request, fault.readable, fault.error, fault=fault, draft=fault.text
        )
    except (MaskedSearch, PayloadsNotPermitted, SearchTooLong) as refusal:
        return stopped(request, filters.parse(" ".join(texts)), refusal)
    context = found_in(request, search, page, so_far) | {"page": trail, "count": count}
    template = "_slice.html"
    if before is None:
        template = "messages.html"
        took_s = perf_counter() - began_s
        context |= context_of(request, search.filter) | {
            "milliseconds": round(took_s * 1000),
            "looks_again": took_s < QUICK_S and not page.is_limited,
        }
    return render(request, f"console/messages/found/{template}", context)


def find(search: Search, trail: Trail, before: SoFar | None) -> finding.SearchPage:
    """The first slice of a page, or the one after what was found before."""
    return finding.find(
        search.filter,
        within=search.within,
        after=before.after if before else trail.after,
        limit=max(PAGE - (before.rows if before else 0), 1),
        effort=before.effort if before else search_results.SEARCH,
    )


def found_in(
    request: HttpRequest, search: Search, page: finding.SearchPage, so_far: SoFar
) -> dict[str, Any]:
    """The context of the list and of its pager, for a page and for a slice."""
    trail = Trail.of(request)
    rows = search_results.rows_of(page, search)
    is_empty = not so_far.rows and trail.is_first and not page.is_limited
    fewer: list[search_results.Fewer] = []
    if is_empty:
        fewer = search_results.without_each(request.user, search.filter)
    # A slice has the columns of its page, which was limited.
    is_of_many = page.is_limited or search_slices.PARAMETER in request.GET
    may_act = request.user.has_perm(permissions.CHANGE)
    return {
        "wanted": search.filter,
        "chips": search_results.chips_of(search.filter),
        "rows": rows,
        "own": own_values.of_list(
            request, [(row.found.message_id, row.queue) for row in rows]
        ),
        "found": page,
        "so_far": so_far,
        "milliseconds": so_far.milliseconds,
        "progress": search_slices.progress_of(page, so_far, trail),
        "next": trail.then(page.after) if page.after else None,
        "fewer": fewer,
        "may_act": may_act and (is_of_many or bool(so_far.at_hand)),
    }


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
