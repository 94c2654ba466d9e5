"""What leads to the first message of an installation.

The steps are shown until a program has accepted a message. Whether a step is done is a
fact of the database, never a mark that somebody sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext

from broker.acts.credentials import create_credential
from broker.models import Credential
from broker.security.authorities import GrantedAuthorities, Principal
from console.queues.new_queue import ADD as ADD_QUEUE
from dashboards.live.depths import QueueDepth


@dataclass(frozen=True, slots=True)
class Step:
    """One step that the user has the rights for."""

    key: str
    words: str
    link: str  # label of the link
    url: str
    is_done: bool = False


def first_steps(
    queues: Sequence[QueueDepth], held: GrantedAuthorities, user: Principal
) -> list[Step]:
    """The steps, in order; none once a message was accepted.

    Args:
        queues: those that the user may inquire.
        held: the user's authorities.
        user: the reader.
    """
    own = [one for one in queues if not one.takes_dead_letters]
    if any(one.left for one in own) or not isinstance(user, User):
        return []
    newest = max(own, key=lambda one: (one.arrived, one.queue_id), default=None)
    return [
        *of_administrators(user, newest),
        *(of_programs(held, newest) if newest else ()),
    ]


def of_administrators(user: User, newest: QueueDepth | None) -> Iterator[Step]:
    if user.has_perms(ADD_QUEUE):
        words = gettext("Create a queue. Its address is created with it.")
        url = reverse("console:new_queue")
        yield Step("queue", words, gettext("New queue…"), url, newest is not None)
    if user.has_perm(create_credential.permission):
        exists = Credential.objects.filter(revoked_at=None).exists()
        words = gettext(
            "Create a credential: the name and secret by which a program logs in."
        )
        url = reverse("console:create_credential")
        yield Step("credential", words, gettext("New credential…"), url, exists)


def of_programs(held: GrantedAuthorities, queue: QueueDepth) -> Iterator[Step]:
    if held.on("put", queue.address):
        words = gettext("Send a test message to %(queue)s.") % {"queue": queue.name}
        url = reverse("console:send", args=[queue.name])
        yield Step("send", words, gettext("Send a message…"), url, queue.arrived > 0)
    if held.on("get", queue.name):
        words = gettext("Receive it in a program: Python, JavaScript, Java or curl.")
        url = reverse("console:connect", args=[queue.name])
        yield Step("receive", words, gettext("Connect a program…"), url)
