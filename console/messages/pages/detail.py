"""One message: its queues, its history and its content."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from broker.acts.operations.siblings import siblings_of
from broker.amqp.messages.envelope import content_encoding
from broker.bridges import resubmit
from broker.errors.redaction import MaskedMessage
from broker.formats.mq.coding import Coding, coding_in, coding_of
from broker.models import DeadLetter, Message
from broker.models.bridge_names import LINK_PROPERTY
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.explain import explain
from broker.monitoring.numbers import public_number, public_numbers
from broker.monitoring.outcomes import Explanation
from broker.monitoring.related import related_to
from broker.security import authorities, redaction
from broker.security.redaction import Veil
from console.bodies import viewers
from console.bodies.calls import call_of
from console.bodies.mq_headers import decoded
from console.bodies.unwrap import Opened
from console.bodies.viewers import BodyView
from console.edges import masking
from console.layout import navigation
from console.messages import link_letters as letters
from console.messages.detail import Story, story_of
from console.messages.link_letters import Carried
from console.messages.properties import searchable, sorted_out, trace_of
from console.messages.repaired_pair import Kin, kin_of
from console.messages.rights import covers, queue_to_send, require


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def message(request: HttpRequest, message_id: int) -> HttpResponse:
    """All facts of a message; its body only for users who may read bodies.

    The page of a message's number shows its newest copy, or with ``copy`` in the query
    the copy with this id. The page of a copy's id leads there.
    """
    number = public_number(message_id) if message_id <= NEWEST else 0
    if number != message_id:
        return redirect(url_of(request, known(message_id), number))
    story = copy_of(request, number)
    held = require(request, "inquire", story)
    return render_message(
        request, story, held, masking.veil_for(request.user, story.message_id)
    )


def copy_of(request: HttpRequest, number: int) -> Story:
    """The copy of a message that the query means; without one, the newest that the user
    may see."""
    said = request.GET.get("copy", "")
    copy = int(said) if said.isdecimal() and len(said) < len(str(NEWEST)) else number
    if copy != number:
        story = known(copy)
        if story.number != number:
            raise Http404(f"copy {copy} of message {number}")
        return story
    story = known(number, newest=not said)
    held = authorities.held_by(request.user)
    if said or covers(held, "inquire", story):
        return story
    numbers = public_numbers(life.message_id for life in story.lives)
    seen = [
        life.message_id
        for life in story.lives
        if numbers[life.message_id] == number
        and any(held.on("inquire", step.road.queue) for step in life.steps)
    ]
    return known(seen[-1]) if seen else story


def url_of(request: HttpRequest, story: Story, number: int) -> str:
    """The page of a copy, by the number of its message."""
    require(request, "inquire", story)
    newest = known(number, newest=True)
    query = request.GET.copy()
    query.pop("newest", None)
    if newest.message_id != story.message_id:
        query["copy"] = str(story.message_id)
    url = reverse("console:message", args=[number])
    return f"{url}?{query.urlencode()}" if query else url


@require_POST
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def unmask(request: HttpRequest, message_id: int) -> HttpResponse:
    """The same page, or the body as a file, once without masks of redaction rules."""
    story = known(message_id)
    held = require(request, "browse", story)
    why = request.POST.get("reason", "")
    veil = masking.lifted_by(request.user, message_id, why)
    if "file" not in request.POST:
        return render_message(request, story, held, veil, why=why)
    found = get_object_or_404(Message.objects.only("body"), pk=message_id)
    return attached(bytes(found.body), f"message-{message_id}.bin")


def render_message(
    request: HttpRequest,
    story: Story,
    held: authorities.GrantedAuthorities,
    veil: Veil,
    why: str = "",
) -> HttpResponse:
    """The page of a message, as far as the user may see it."""
    sent = story.message.properties if story.message else {}
    seen, _ = veil.properties(sent)
    properties = sorted_out(seen)
    is_reader = request.user.has_perm("broker.browse_queue")
    may_browse = is_reader and covers(held, "browse", story)
    found = story.message
    dead = [now.letter for now in story.verdicts if now.letter and now.place]
    origins = {one.origin_queue for one in dead}
    heads = heads_of(story.message_id, veil) if found and may_browse else None
    context = {
        "story": story,
        "copy": request.GET.get("copy", ""),
        "explanations": explanations(held, story),
        "properties": properties,
        # Values that were unmasked must not be in the URL of a search.
        "searchable": set() if why else searchable(seen, sent),
        "may_browse": may_browse,
        "trace": trace_of(seen) if may_browse else None,
        "body": None,
        "call": None,
        "headers": None,
        "repairs": repairs_of(request, story, held, veil) if may_browse else [],
        "send_to": queue_to_send(held, story) if found and may_browse else "",
        "veil": veil,
        "why": why,
        "related": related_to(story.message_id, held),
        "siblings": siblings_of(origins, held) if origins else [],
        "carried": carried_of(request, story, properties.named if may_browse else {}),
    }
    if found and heads:
        coding = coding_of(found.descriptor, found.content_type, *heads)
        context |= in_view(request, found, heads[1], story.size, veil, coding)
        masked = veil.body(heads[1], found.content_type, coding)
        context["call"] = call_of(seen, masked.body)
    if found:
        head = b"".join(heads) if heads and not veil else None
        context["headers"] = decoded(found, story.backout_count, head, timezone.now())
    if story.letter is not None:
        navigation.counts_as(request, "console:dead_letters")
    return render(request, "console/messages/message.html", context)


def carried_of(
    request: HttpRequest, story: Story, told: dict[str, str]
) -> Carried | None:
    """The facts about a link that could not transfer the message, if that is the cause
    of this dead letter."""
    letter = story.letter
    if letter is None or letter.cause != DeadLetter.Cause.LINK:
        return None
    named = story.message.properties.get(LINK_PROPERTY) if story.message else None
    link = resubmit.link_for(request.user, letter, named)
    return letters.carried(letter, told, link)


def repairs_of(
    request: HttpRequest, story: Story, held: authorities.GrantedAuthorities, veil: Veil
) -> list[Kin]:
    """The repairs of a message in which nothing is masked, on either side."""
    kin = [] if veil else kin_of(story, held)
    if not kin:
        return []
    ids = {one for pair in kin for one in (pair.parent, pair.child)}
    veils = redaction.sight_of(request.user).veils(ids - {story.message_id})
    hidden = {one for one, over in veils.items() if over}
    return [one for one in kin if not hidden & {one.parent, one.child}]


def in_view(
    request: HttpRequest,
    found: Message,
    head: bytes,
    size: int,
    veil: Veil,
    coding: Coding | None,
) -> dict[str, object]:
    """The body as its sender declared it, or as the user chose to view it."""
    wanted = request.GET.get("as", "")
    if veil:
        return {"body": behind(veil, head, size, found.content_type, wanted, coding)}
    # No choices for an unmasked body (a POST): they are links, and lead to the masked
    # one.
    choices = viewers.choices() if request.method != "POST" else []
    return {
        "body": viewers.show(
            head,
            size,
            found.content_type,
            encoding=encoding_of(found),
            wanted=wanted,
            coding=coding,
        ),
        "wanted": wanted if wanted in choices else "",
        "choices": choices,
    }


def behind(
    veil: Veil,
    body: bytes,
    size: int,
    content_type: str,
    wanted: str,
    coding: Coding | None,
) -> BodyView:
    """A masked body. It is not unpacked, because rules do not read packed data."""
    seen = veil.body(body, content_type, coding)
    if seen.is_withheld:
        return viewers.as_sent(seen.body, is_partly_read=size > len(body))
    if wanted == "text":
        return viewers.as_sent(
            seen.body, is_partly_read=size > len(body), coding=coding
        )
    opened = Opened(seen.body, is_kept=True, content_type=content_type, coding=coding)
    return viewers.inside(opened, "")


def encoding_of(found: Message) -> str:
    """The encoding of a body as declared by its sender; empty if not declared."""
    if found.envelope and (said := content_encoding(bytes(found.envelope))):
        return said
    names = {name.lower(): value for name, value in found.properties.items()}
    said = names.get("content-encoding") or names.get("content_encoding") or ""
    return said if isinstance(said, str) else ""


def explanations(
    held: authorities.GrantedAuthorities, story: Story
) -> list[Explanation]:
    """Why the message is not delivered, on the queues that the user may browse."""
    return [
        one
        for one in explain(story.message_id)
        if held.everywhere("browse") or held.on("browse", one.queue)
    ]


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def body(request: HttpRequest, message_id: int) -> HttpResponse:
    """The bytes of a body as a file; masked parts stay masked."""
    found = get_object_or_404(
        Message.objects.only("body", "content_type", "descriptor", "headers"),
        pk=message_id,
    )
    require(request, "browse", known(message_id))
    veil = masking.veil_for(request.user, message_id)
    seen = veil.body(bytes(found.body), found.content_type, coding_in(found))
    return attached(seen.body, f"message-{message_id}.bin")


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def data(request: HttpRequest, message_id: int) -> HttpResponse:
    """The headers and the body as a file, as a client of IBM MQ gets them."""
    found = get_object_or_404(Message.objects.only("headers", "body"), pk=message_id)
    require(request, "browse", known(message_id))
    if veil := masking.veil_for(request.user, message_id):
        raise MaskedMessage(veil.names)
    whole = bytes(found.headers or b"") + bytes(found.body)
    return attached(whole, f"message-{message_id}-with-headers.bin")


def attached(content: bytes, name: str) -> HttpResponse:
    """A file that browsers download and never execute."""
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        },
    )


def known(message_id: int, *, newest: bool = False) -> Story:
    story = story_of(message_id, newest=newest) if message_id <= NEWEST else None
    if story is None:
        raise Http404(f"message {message_id}")
    return story


def heads_of(message_id: int, veil: Veil) -> tuple[bytes, bytes]:
    """The beginnings of the headers and the body; the whole of a masked body."""
    start = Substr("body", 1, viewers.LAID_OUT)
    columns = (Substr("headers", 1, viewers.LAID_OUT), "body" if veil else start)
    headers, body = Message.objects.filter(pk=message_id).values_list(*columns)[0]
    return bytes(headers or b""), bytes(body)
