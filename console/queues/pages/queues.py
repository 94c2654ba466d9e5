"""The queues: the list with depths, and one queue with its entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from broker.models import DeadLetter, Place, Queue
from broker.monitoring.numbers import public_numbers
from broker.operations.commands import SELECTABLE
from broker.queueing.browse import Browsed, browse
from broker.security import authorities
from console.audit import history
from console.bodies import own_values
from console.edges import masking, permissions
from console.layout import pagination, settings_problems
from console.queues import over_time, queue_consumers, queue_list
from dashboards.live import ages, attention, topics
from dashboards.live import depths as counting

PAGE = 50
PLACES = {  # places of entries, by name in the URL, in the order of the tabs
    "ready": Place.READY,
    "in-flight": Place.CLAIMED,
    "delayed": Place.DELAYED,
}


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def queues(request: HttpRequest) -> HttpResponse:
    """Every queue with its present depth; ``queue_list`` reads the URL."""
    every = counting.queues(user=request.user)
    held = authorities.held_by(request.user)
    context = {
        "list": queue_list.listed(
            every,
            request.GET,
            held,
            hidden=request.COOKIES.get(queue_list.COOKIE, ""),
        ),
        "totals": counting.totals(every),
    }
    return render(request, "console/queues/queues.html", context)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
@cache_control(private=True, no_cache=True)
@conditional_page
def depths(request: HttpRequest) -> HttpResponse:
    """The numbers that the socket sends, for pages without a socket; ``shown`` names
    the queues of the page."""
    held = authorities.held_by(request.user)
    every = counting.queues(user=request.user)
    ids = counting.named(request.GET.get("shown", ""))
    shown = [one for one in every if one.queue_id in ids]
    html = counting.html(every, shown, held=held)
    asked = topics.topic_of(request.META["QUERY_STRING"])
    if asked and asked[0].may_see(request.user, asked[1]):
        topic, number = asked
        html += topic.html(number)
    return HttpResponse(html)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def queue(request: HttpRequest, name: str) -> HttpResponse:
    """One queue, and a page of the entries in one place on it."""
    found = counting.queues(name)
    if not found:
        raise Http404(name)
    held = authorities.held_by(request.user)
    if not held.on("inquire", name):
        raise authorities.refusal(request.user, "inquire", name)
    may = request.user.has_perm
    place = request.GET.get("place", "")
    place = place if place in PLACES else "ready"
    page = pagination.Trail.of(request)
    try:
        entries = browse(
            found[0].queue_id, PLACES[place], after=page.after, limit=PAGE + 1
        )
    except (ValueError, OverflowError):  # the cursor is not one of this list
        return redirect(f"{request.path}?place={place}")
    listed = entries[:PAGE]
    letters = letters_of(found[0].queue_id, listed)
    numbers = public_numbers(one.message_id for one in listed)
    may_browse = may("broker.browse_queue") and held.on("browse", name)
    about = Queue.objects.get(pk=found[0].queue_id)
    context: dict[str, Any] = {
        "queue": found[0],
        "about": about,
        "history": history.of_queue(about),
        "consumers": queue_consumers.of_queue(about, request.user, held),
        "over_time": over_time.of_queue(request, about),
        "died": attention.died(held)[name],
        "oldest_s": ages.lately().get(found[0].queue_id),
        "place": place,
        "places": list(PLACES),
        "rows": [
            (one, numbers[one.message_id], letters.get(one.message_id))
            for one in masking.without_heads(request.user, listed, is_read=may_browse)
        ],
        "has_letters": bool(letters),
        "own": own_values.of_list(
            request, [(one.message_id, name) for one in listed], name
        ),
        "page": page,
        "fresh": fresh(found[0], place),
        "advice": [
            one for one in settings_problems.advice_for(held) if one.queue == name
        ],
        "may_act": may(permissions.CHANGE) and PLACES[place] in SELECTABLE,
        "may_browse": may_browse,
        "may_pause": may("broker.pause_queue") and held.on("set", name),
        "may_send": held.on("put", found[0].address),
        "next": page.then(entries[PAGE - 1].cursor) if len(entries) > PAGE else None,
    }
    return render(request, "console/queues/queue.html", context)


def letters_of(queue_id: int, entries: Sequence[Browsed]) -> dict[int, DeadLetter]:
    """Why messages on a queue died: those that are dead letters, by message."""
    ids = [one.message_id for one in entries]
    letters = DeadLetter.objects.filter(queue_id=queue_id, message_id__in=ids)
    return {one.message_id: one for one in letters}


def fresh(depth: counting.QueueDepth, place: str) -> dict[str, object]:
    """The number whose change makes the list out of date, and its value now."""
    match PLACES[place]:
        case Place.CLAIMED:
            return {"what": "claimed", "count": depth.claimed}
        case Place.DELAYED:
            return {"what": "delayed", "count": depth.delayed}
    return {"what": "arrived", "count": depth.arrived}
