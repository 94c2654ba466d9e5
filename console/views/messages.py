"""One message: where it is, what happened to it, what is in it."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import permission_required
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from broker import authorities
from broker.endings import Explanation
from broker.explain import explain
from broker.models import Message
from broker.triage import NEWEST
from console import frame, viewers
from console.mq_headers import decoded
from console.stories import Story, story_of

BROKERS_OWN = ("_AMQ_", "_BRK_")  # how the names of its properties begin


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def message(request: HttpRequest, message_id: int) -> HttpResponse:
    """What there is to know of a message; its body, for those who may read bodies."""
    story = known(message_id)
    held = require(request, "inquire", story)
    own, others = properties_of(story.message)
    is_reader = request.user.has_perm("broker.browse_queue")
    may_browse = is_reader and covers(held, "browse", story)
    found = story.message
    heads = heads_of(message_id) if found and may_browse else None
    context = {
        "story": story,
        "explanations": explanations(held, story),
        "own_properties": own,
        "properties": others,
        "may_browse": may_browse,
        "body": None,
        "headers": None,
    }
    if found and heads:
        context["body"] = viewers.show(heads[1], story.size, found.content_type)
    if found:
        head = b"".join(heads) if heads else None
        context["headers"] = decoded(found, story.backout_count, head, timezone.now())
    if story.letter is not None:
        frame.counts_as(request, "console:dead_letters")
    return render(request, "console/messages/message.html", context)


def explanations(held: authorities.Held, story: Story) -> list[Explanation]:
    """Why it is not being delivered, on the queues that this person may browse."""
    return [
        one
        for one in explain(story.message_id)
        if held.everywhere("browse") or held.on("browse", one.queue)
    ]


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def body(request: HttpRequest, message_id: int) -> HttpResponse:
    """The bytes of a body as a file."""
    found = get_object_or_404(Message.objects.only("body"), pk=message_id)
    require(request, "browse", known(message_id))
    return attached(bytes(found.body), f"message-{message_id}.bin")


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def data(request: HttpRequest, message_id: int) -> HttpResponse:
    """What a client of IBM MQ gets: the headers and the body, as a file."""
    found = get_object_or_404(Message.objects.only("headers", "body"), pk=message_id)
    require(request, "browse", known(message_id))
    whole = bytes(found.headers or b"") + bytes(found.body)
    return attached(whole, f"message-{message_id}-with-headers.bin")


def attached(content: bytes, name: str) -> HttpResponse:
    """A file that no browser takes for anything else."""
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        },
    )


def known(message_id: int) -> Story:
    story = story_of(message_id) if message_id <= NEWEST else None
    if story is None:
        raise Http404(f"message {message_id}")
    return story


def require(
    request: HttpRequest, authority: authorities.Authority, story: Story
) -> authorities.Held:
    """Go on only with an authority on a queue where the message is or was.

    Raises:
        NotAuthorized: it may not be known, or read, by this person.
    """
    held = authorities.held_by(request.user)
    if not covers(held, authority, story):
        queue = min(story.queues, default="#")
        raise authorities.refusal(request.user, authority, queue)
    return held


def covers(
    held: authorities.Held, authority: authorities.Authority, story: Story
) -> bool:
    return held.everywhere(authority) or any(
        held.on(authority, queue) for queue in story.queues
    )


def heads_of(message_id: int) -> tuple[bytes, bytes]:
    """As much of a message's headers, and of its body, as is shown."""
    starts = (Substr(column, 1, viewers.LAID_OUT) for column in ("headers", "body"))
    headers, body = Message.objects.filter(pk=message_id).values_list(*starts)[0]
    return bytes(headers or b""), bytes(body)


Pairs = list[tuple[str, str]]


def properties_of(found: Message | None) -> tuple[Pairs, Pairs]:
    """The broker's own properties, and those of the application."""
    own: Pairs = []
    others: Pairs = []
    for name, value in sorted(found.properties.items() if found else ()):
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
        (own if name.startswith(BROKERS_OWN) else others).append((name, text))
    return own, others
