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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser

from broker import models, sql
from broker.errors.queues import NotAuthorized
from broker.formats.wildcards import ANY_WORDS, matches, overlap

Principal = AbstractBaseUser | AnonymousUser | None
Authority = Literal["inquire", "browse", "unmask", "get", "put", "passall", "set"]
ALL: tuple[Authority, ...] = get_args(Authority)
FIELDS: dict[Authority, str] = {  # of the model, by IBM MQ's word
    "inquire": "may_inquire",
    "browse": "may_browse",
    "unmask": "may_unmask",  # ours: to see what a rule masks, for a reason
    "get": "may_get",
    "put": "may_put",
    "passall": "may_pass_all",
    "set": "may_set",
}


@dataclass(frozen=True, slots=True)
class GrantedAuthorities:
    """What one principal may do, as it was at one moment."""

    patterns: Mapping[str, Sequence[str]]  # by authority

    def everywhere(self, authority: Authority) -> bool:
        """Whether it holds for every queue that there can be."""
        return ANY_WORDS in self.patterns.get(authority, ())

    def on(self, authority: Authority, queue: str) -> bool:
        """Whether it holds for the queue of this name."""
        patterns = self.patterns.get(authority, ())
        # Mostly asked of every queue that there is: what matches all is told at once.
        return ANY_WORDS in patterns or any(matches(one, queue) for one in patterns)


WITH_A_CREDENTIAL: dict[Authority, str | None] = {  # the flag that it needs, if any
    "inquire": None,
    "browse": "may_browse",
    "get": "may_get",
    "put": "may_put",
    "passall": "may_put",
}  # a machine sets nothing, and unmasks nothing
BY = "credential"  # of a user object that stands for one
EVERYTHING = GrantedAuthorities(dict.fromkeys(ALL, (ANY_WORDS,)))
NOTHING = GrantedAuthorities({})


def held_by(user: Principal) -> GrantedAuthorities:
    """All that a principal may do now; for whoever has several questions at once.

    One query, never cached. Whether the user is active, and a superuser, is what the
    database says now, however old the given object is.
    """
    if user is None:
        return EVERYTHING
    if user.pk is None:  # nobody has signed in
        return NOTHING
    held = held_by_each([user.pk]).get(user.pk, NOTHING)
    credential = credential_of(user)
    return held if credential is None else narrowed(held, credential)


def through(credential: models.Credential) -> AbstractBaseUser:
    """The user of a credential as a principal who may no more than that leaves."""
    user: AbstractBaseUser = credential.user
    setattr(user, BY, credential)
    return user


def credential_of(user: Principal) -> models.Credential | None:
    """By which credential a principal came; None for people who signed in."""
    return getattr(user, BY, None)


def name_of(user: Principal) -> str:
    """A principal as the journal names whoever puts and gets."""
    credential = credential_of(user)
    if credential is not None:
        return credential.name
    return user.get_username() if user is not None else ""


def held_by_each(user_ids: Collection[int]) -> dict[int, GrantedAuthorities]:
    """The same of many users, by id; who is not active is not in it. One query."""
    found = sql.run("held_by", {"user_ids": list(user_ids)})
    return {
        user_id: EVERYTHING if may_all else held_of(granted)
        for user_id, may_all, granted in found
    }


def held_of(granted: Sequence[Mapping[str, Any]]) -> GrantedAuthorities:
    """The same rights are equal, in whatever order their rows came."""
    return GrantedAuthorities(
        {
            one: sorted(row["pattern"] for row in granted if row[field])
            for one, field in FIELDS.items()
        }
    )


def narrowed(
    held: GrantedAuthorities, credential: models.Credential
) -> GrantedAuthorities:
    """What is left of a user's authorities for whoever logs in by a credential.

    On each queue it takes both: the user's authority, and a pattern of the credential,
    which has to be for this. Whether the credential is good is another question
    (``credentials.good``).

    Args:
        held: by the credential's user.
        credential: which, as it is now.
    """
    return GrantedAuthorities(
        {
            authority: overlaps(held.patterns.get(authority, ()), credential.patterns)
            for authority, flag in WITH_A_CREDENTIAL.items()
            if flag is None or getattr(credential, flag)
        }
    )


def overlaps(patterns: Sequence[str], others: str) -> list[str]:
    """Patterns of what both match; the others are given one a line."""
    found = (overlap(one, other) for one in patterns for other in others.split())
    return sorted({one for one in found if one is not None})


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


def require_on_all(user: Principal, authority: Authority, *queues: str) -> None:
    """The same of what stands on several queues, of which some may not be known to the
    principal: those are not named. One query.

    Raises:
        NotAuthorized: on one of them it may not; reason 2035.
    """
    held = held_by(user)
    lacking = [queue for queue in queues if not held.on(authority, queue)]
    if lacking:
        known = [queue for queue in lacking if held.on("inquire", queue)]
        queue = (known or lacking)[0]
        raise refusal(user, authority, queue, is_told=bool(known))


def refusal(
    user: Principal, authority: Authority, queue: str, *, is_told: bool = True
) -> NotAuthorized:
    """The error that says who may not do what."""
    name = name_of(user) or "Somebody without a name"
    return NotAuthorized(name, authority, queue, is_told=is_told)
