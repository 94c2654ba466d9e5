"""Actions that the search in the bar offers, as ``pause orders``: a verb, a queue.

Acts are also offered by verb and noun, as ``acknowledge alert``: they lead to the page
that lists what they are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_noop

from broker.acts import ACTS, DeclaredAct
from broker.acts.queues import pause_queue, resume_queue
from broker.models import Queue
from broker.security.authorities import Authority, GrantedAuthorities
from console.layout.destinations import Destination

SHORTEST = 3  # a shorter text is not taken for a verb
VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a page does, behind that page's own plan or confirmation.

    Args:
        verbs: what one may type for it, in small letters; the first is our own.
        label: what it is called; a queue's name is put in place of ``{}``.
        permissions: what the user needs for it.
        authority: what the user needs on the queue.
    """

    verbs: tuple[str, ...]
    label: str
    icon: str
    view: str
    permissions: tuple[str, ...]
    authority: Authority = "inquire"

    def is_meant(self, verb: str) -> bool:
        return len(verb) >= SHORTEST and any(one.startswith(verb) for one in self.verbs)


def on_queue(one: DeclaredAct, label: str, icon: str, view: str, *verbs: str) -> Action:
    """An act on a queue. Its own verb is the first."""
    own, _, _ = one.name.partition("_")
    needed = one.authorities["queue"]
    return Action((own, *verbs), label, icon, view, one.permissions, needed)


ON_QUEUES = (
    on_queue(
        pause_queue,
        gettext_noop("Pause {}…"), "held", "console:pause", "stop", "halt", "disable",
    ),
    on_queue(
        resume_queue,
        gettext_noop("Resume {}…"), "in-flight", "console:resume",
        "continue", "enable", "unpause",
    ),
    Action(
        ("send", "put", "publish", "produce"),
        gettext_noop("Send a message to {}…"),
        "messages", "console:send", (VIEW,), "put",
    ),
    Action(
        ("import", "load", "upload"),
        gettext_noop("Import messages to {}…"),
        "messages", "console:import_messages", (VIEW,), "put",
    ),
    Action(
        ("connect", "subscribe", "consume"),
        gettext_noop("Connect a program to {}"),
        "connections", "console:connect", (VIEW,),
    ),
)  # fmt: skip
ELSEWHERE = (
    Action(
        ("new queue", "create queue", "add queue", "declare queue"),
        gettext_noop("New queue…"), "queues", "console:new_queue",
        ("broker.add_queue", "broker.add_address"),
    ),
    Action(
        ("new link", "create link", "add link", "new bridge", "add bridge"),
        gettext_noop("New link…"), "bridges", "console:new_link",
        (
            *("broker.add_link", "broker.add_bridge"),
            *("broker.add_connectionfactory", "broker.add_bridgedestination"),
        ),
    ),
    Action(
        ("new credential", "create credential", "add credential"),
        gettext_noop("New credential…"), "credentials", "console:create_credential",
        ("broker.add_credential",),
    ),
)  # fmt: skip


def elsewhere(user: User | AnonymousUser, wanted: str) -> Iterator[Action]:
    """The actions on no queue that were typed, in whole or in part."""
    part = wanted.casefold()
    return (one for one in ELSEWHERE if one.is_meant(part) and may(user, one))


def listed(
    user: User | AnonymousUser, places: Iterable[Destination], wanted: str
) -> Iterator[tuple[str, Destination]]:
    """The acts that begin with the words that were typed, in their order, each with the
    entry of the navigation that lists what it is about.

    Args:
        places: the entries that the user has.
    """
    words = wanted.casefold().split()
    if not words or len(words[0]) < SHORTEST:
        return
    for one in ACTS.values():
        name = one.name.split("_")
        is_meant = len(words) <= len(name) and all(
            part.startswith(word) for part, word in zip(name, words, strict=False)
        )
        if not is_meant or not user.has_perms(one.permissions):
            continue
        here = (place for place in places if one.subject in place.subjects)
        if place := next(here, None):
            yield " ".join(name).capitalize(), place


def on_queues(
    user: User | AnonymousUser, held: GrantedAuthorities, wanted: str, *, most: int
) -> Iterator[tuple[Action, str]]:
    """The actions that were typed, each with the name of a queue that has that part.

    Args:
        wanted: a verb, or its begin, and a part of a queue's name.
        most: at most so many queues of an action.
    """
    verb, _, part = wanted.partition(" ")
    meant = [one for one in ON_QUEUES if one.is_meant(verb.casefold())]
    allowed = [one for one in meant if may(user, one)]
    if not (part.strip() and allowed):
        return
    named = Queue.objects.filter(name__icontains=part.strip()).order_by("name")
    queues = list(named.select_related("address"))
    for one in allowed:
        fitting = (queue.name for queue in queues if fits(one, queue, held))
        yield from ((one, name) for name in islice(fitting, most))


def fits(action: Action, queue: Queue, held: GrantedAuthorities) -> bool:
    """Whether a queue can have it now, and the user may do it there."""
    if action.view == ("console:pause" if queue.paused else "console:resume"):
        return False
    place = queue.address.name if action.authority == "put" else queue.name
    return held.on("inquire", queue.name) and held.on(action.authority, place)


def may(user: User | AnonymousUser, action: Action) -> bool:
    return user.has_perms(action.permissions)
