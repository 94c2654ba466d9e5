"""Who may do what on a queue: asked here, by everything that does it.

A principal is a user of Django, or None for the process itself: an application's own
code may all. Authorities are rows that an administrator grants to users and groups, on
patterns of queue names. What a principal may do is the sum of all its rows; there are
none that take away.

Source:
    IBM MQ, "Authority to work with IBM MQ objects": authorities of a user and of all
    the user's groups accumulate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q
from django.db.models.functions import JSONObject

from broker import models
from broker.errors.queues import NotAuthorized
from broker.wildcards import ANY_WORDS, matches

Principal = AbstractBaseUser | AnonymousUser | None
Authority = Literal["inquire", "browse", "get", "put", "passall", "set"]
ALL: tuple[Authority, ...] = get_args(Authority)
FIELDS: dict[Authority, str] = {  # of the model, by IBM MQ's word
    "inquire": "may_inquire",
    "browse": "may_browse",
    "get": "may_get",
    "put": "may_put",
    "passall": "may_pass_all",
    "set": "may_set",
}


@dataclass(frozen=True, slots=True)
class Held:
    """What one principal may do, as it was at one moment."""

    patterns: Mapping[str, Sequence[str]]  # by authority

    def everywhere(self, authority: Authority) -> bool:
        """Whether it holds for every queue that there can be."""
        return ANY_WORDS in self.patterns.get(authority, ())

    def on(self, authority: Authority, queue: str) -> bool:
        """Whether it holds for the queue of this name."""
        return any(matches(one, queue) for one in self.patterns.get(authority, ()))


EVERYTHING = Held(dict.fromkeys(ALL, (ANY_WORDS,)))
NOTHING = Held({})


def held_by(user: Principal) -> Held:
    """All that a principal may do now; for whoever has several questions at once.

    One query, never cached. Whether the user is active, and a superuser, is what the
    database says now, however old the given object is.
    """
    if user is None:
        return EVERYTHING
    if user.pk is None:  # nobody has signed in
        return NOTHING
    rows = models.Authority.objects.filter(
        Q(user=OuterRef("pk")) | Q(group__user=OuterRef("pk"))
    ).values(row=JSONObject(pattern="pattern", **FIELDS))
    found = (
        get_user_model()
        ._default_manager.filter(pk=user.pk, is_active=True)
        .values_list("is_superuser", ArraySubquery(rows))
        .first()
    )
    if found is None:
        return NOTHING
    may_all, granted = found
    if may_all:
        return EVERYTHING
    return Held(
        {one: [row["pattern"] for row in granted if row[one]] for one in FIELDS}
    )


def may(user: Principal, authority: Authority, queue: str) -> bool:
    """Whether a principal may do something on a queue. One query."""
    return held_by(user).on(authority, queue)


def allowed(user: Principal, authority: Authority, queues: Iterable[str]) -> set[str]:
    """Those of the queues on which a principal may do something. One query."""
    held = held_by(user)
    return {queue for queue in queues if held.on(authority, queue)}


def require(user: Principal, authority: Authority, *queues: str) -> None:
    """Go on only if a principal may do something on each of the queues. One query.

    Args:
        user: the principal; None is the process itself.
        authority: in IBM MQ's words.
        queues: their names, as an administrator wrote them into patterns.

    Raises:
        NotAuthorized: on one of them it may not; reason 2035.
    """
    held = held_by(user)
    for queue in queues:
        if not held.on(authority, queue):
            raise refusal(user, authority, queue)


def refusal(user: Principal, authority: Authority, queue: str) -> NotAuthorized:
    """The error that says who may not do what."""
    name = user.get_username() if user is not None else ""
    return NotAuthorized(name or "Somebody without a name", authority, queue)
