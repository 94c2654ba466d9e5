"""Authorization: which authorities a principal has for a queue.

A principal is a Django user, or None for the process itself: an application's own code
has all authorities. An administrator grants authorities to users and groups, for
patterns of queue names. A principal has the union of all its grants; there are no
denials.

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
# Fields of the model, by IBM MQ's name of the authority.
FIELDS: dict[Authority, str] = {
    "inquire": "may_inquire",
    "browse": "may_browse",
    # To see masked values, with a reason; IBM MQ does not have it.
    "unmask": "may_unmask",
    "get": "may_get",
    "put": "may_put",
    "passall": "may_pass_all",
    "set": "may_set",
}


@dataclass(frozen=True, slots=True)
class GrantedAuthorities:
    """The authorities of one principal at one moment."""

    patterns: Mapping[str, Sequence[str]]  # patterns of queue names, by authority

    def everywhere(self, authority: Authority) -> bool:
        """Whether the principal has the authority for every possible queue."""
        return ANY_WORDS in self.patterns.get(authority, ())

    def on(self, authority: Authority, queue: str) -> bool:
        """Whether the principal has the authority for the queue of this name."""
        patterns = self.patterns.get(authority, ())
        # This is often called for all queues, so a pattern that matches all is checked
        # first.
        return ANY_WORDS in patterns or any(matches(one, queue) for one in patterns)


# The flag that a credential needs for the authority; None: no flag.
WITH_A_CREDENTIAL: dict[Authority, str | None] = {
    "inquire": None,
    "browse": "may_browse",
    "get": "may_get",
    "put": "may_put",
    "passall": "may_put",
}  # credentials never have the authorities set and unmask
BY = "credential"  # attribute of a user object that logged in by a credential
EVERYTHING = GrantedAuthorities(dict.fromkeys(ALL, (ANY_WORDS,)))
NOTHING = GrantedAuthorities({})


def held_by(user: Principal) -> GrantedAuthorities:
    """All authorities of a principal now, to check several at once.

    One query, never cached. Whether the user is active or a superuser is read from the
    database, not from the given object.
    """
    if user is None:
        return EVERYTHING
    if user.pk is None:  # an anonymous user
        return NOTHING
    held = held_by_each([user.pk]).get(user.pk, NOTHING)
    credential = credential_of(user)
    return held if credential is None else narrowed(held, credential)


def through(credential: models.Credential) -> AbstractBaseUser:
    """The user of a credential as a principal, limited by the credential."""
    user: AbstractBaseUser = credential.user
    setattr(user, BY, credential)
    return user


def credential_of(user: Principal) -> models.Credential | None:
    """The credential by which a principal logged in; None for a signed-in user."""
    return getattr(user, BY, None)


def id_of(user: Principal) -> str:
    """A unique identifier of a principal: it tells a user's credentials apart. Empty
    for the application itself."""
    credential = credential_of(user)
    if credential is not None:
        return f"credential {credential.pk}"
    return f"user {user.pk}" if user is not None else ""


def name_of(user: Principal) -> str:
    """The name of a principal, as it is written in the journal."""
    credential = credential_of(user)
    if credential is not None:
        return credential.name
    return user.get_username() if user is not None else ""


def held_by_each(user_ids: Collection[int]) -> dict[int, GrantedAuthorities]:
    """The authorities of many users, by id; inactive users are missing. One query."""
    found = sql.run("held_by", {"user_ids": list(user_ids)})
    return {
        user_id: EVERYTHING if may_all else held_of(granted)
        for user_id, may_all, granted in found
    }


def held_of(granted: Sequence[Mapping[str, Any]]) -> GrantedAuthorities:
    """The authorities of grants, sorted, so that equal authorities compare equal."""
    return GrantedAuthorities(
        {
            one: sorted(row["pattern"] for row in granted if row[field])
            for one, field in FIELDS.items()
        }
    )


def narrowed(
    held: GrantedAuthorities, credential: models.Credential
) -> GrantedAuthorities:
    """A user's authorities, limited by a credential.

    For each queue both are needed: the user's authority, and a pattern of a credential
    with the flag for this authority. This does not check that the credential is valid
    (``credentials.good``).

    Args:
        held: the authorities of the credential's user.
        credential: the credential.
    """
    return GrantedAuthorities(
        {
            authority: overlaps(held.patterns.get(authority, ()), credential.patterns)
            for authority, flag in WITH_A_CREDENTIAL.items()
            if flag is None or getattr(credential, flag)
        }
    )


def overlaps(patterns: Sequence[str], others: str) -> list[str]:
    """Patterns of the names that both sides match. ``others`` has one pattern in each
    line."""
    found = (overlap(one, other) for one in patterns for other in others.split())
    return sorted({one for one in found if one is not None})


def may(user: Principal, authority: Authority, queue: str) -> bool:
    """Whether a principal has an authority for a queue. One query."""
    return held_by(user).on(authority, queue)


def allowed(user: Principal, authority: Authority, queues: Iterable[str]) -> set[str]:
    """The queues for which a principal has an authority. One query."""
    held = held_by(user)
    return {queue for queue in queues if held.on(authority, queue)}


def require(user: Principal, authority: Authority, *queues: str) -> None:
    """Refuse a principal without an authority for each of the queues. One query.

    Args:
        user: the principal; None is the process itself.
        authority: the authority, by IBM MQ's name.
        queues: names of queues.

    Raises:
        NotAuthorized: the authority for one of them is missing; reason 2035.
    """
    held = held_by(user)
    for queue in queues:
        if not held.on(authority, queue):
            raise refusal(user, authority, queue)


def require_on_all(user: Principal, authority: Authority, *queues: str) -> None:
    """Like ``require``, but the error does not name a queue that the principal may not
    inquire. One query.

    Raises:
        NotAuthorized: the authority for one of them is missing; reason 2035.
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
    """The error for a missing authority."""
    name = name_of(user) or "Somebody without a name"
    return NotAuthorized(name, authority, queue, is_told=is_told)
