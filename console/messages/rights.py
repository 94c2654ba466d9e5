"""Which users may see or read a message, by the queues where it is or was."""

from __future__ import annotations

from django.http import HttpRequest

from broker.models import Queue
from broker.security import authorities
from console.messages.detail import Story


def require(
    request: HttpRequest, authority: authorities.Authority, story: Story
) -> authorities.GrantedAuthorities:
    """Require an authority on a queue where the message is or was.

    Raises:
        NotAuthorized: the user may not see, or not read, the message.
    """
    return require_for(request.user, authority, story)


def require_for(
    actor: authorities.Principal, authority: authorities.Authority, story: Story
) -> authorities.GrantedAuthorities:
    """The same for an actor without a request.

    Raises:
        NotAuthorized: the actor may not see, or not read, the message.
    """
    held = authorities.held_by(actor)
    if not covers(held, authority, story):
        lacks = authority if covers(held, "inquire", story) else "inquire"
        known = [one for one in story.queues if held.on("inquire", one)]
        queue = min(known or story.queues, default="#")
        raise authorities.refusal(actor, lacks, queue)
    return held


def queue_to_send(held: authorities.GrantedAuthorities, story: Story) -> str:
    """The queue to which the user may send a message like this one; empty: none. That
    of a dead letter is the queue it comes from."""
    letter = story.letter
    names = {letter.origin_queue} if letter else story.queues
    rows = Queue.objects.filter(name__in=names).order_by("name")
    for name, address in rows.values_list("name", "address__name"):
        if held.on("inquire", name) and held.on("put", address):
            return str(name)
    return ""


def covers(
    held: authorities.GrantedAuthorities, authority: authorities.Authority, story: Story
) -> bool:
    return held.everywhere(authority) or any(
        held.on(authority, queue) for queue in story.queues
    )
