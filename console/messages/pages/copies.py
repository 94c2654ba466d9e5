"""The messages with an id that a sender gave."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.message_copies import Incarnations, incarnations
from broker.security import authorities
from console.messages.detail import Story, story_of
from console.messages.rights import covers


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def by_client_id(request: HttpRequest, client_message_id: str) -> HttpResponse:
    """The page of the message with this id, or a list if several have it. Messages that
    are older than a million others are searched only if no newer message has it."""
    if "\0" in client_message_id:
        raise Http404("no message can have this id")
    said = request.GET.get("before", "")
    before = int(said) if said.isdecimal() and len(said) < len(str(NEWEST)) else None
    found = incarnations(client_message_id, before=before)
    stories = visible_stories(request, found)
    if len(stories) == 1 and before is None:
        return redirect("console:message", stories[0].number)
    context = {
        "client_message_id": client_message_id,
        "stories": stories,
        "found": found,
    }
    status = 200 if stories or found.goes_on else 404
    return render(
        request, "console/messages/found/incarnations.html", context, status=status
    )


def visible_stories(request: HttpRequest, found: Incarnations) -> list[Story]:
    """The stories of the found messages that the user may see: of each message, that of
    its newest copy."""
    held = authorities.held_by(request.user)
    stories: dict[int, Story] = {}
    for one in map(story_of, found.message_ids):
        if one and covers(held, "inquire", one):
            stories.setdefault(one.number, one)
    return list(stories.values())
