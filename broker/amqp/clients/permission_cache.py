"""Cache of the authorities of connected principals; refreshed each second.

One query reads the authorities of all of them. So a withdrawn authority ends the links
that need it within seconds, and a message costs no query.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from broker.amqp.clients.identity import Identity
from broker.models.clients import Credential
from broker.security import authorities, credentials
from broker.security.authorities import Authority, GrantedAuthorities

MOST_ANSWERS = 10_000  # most answers cached for one principal


class Key(NamedTuple):
    """A principal: a user, or a user limited by a credential."""

    user_id: int
    credential_id: int | None

    @classmethod
    def of(cls, identity: Identity) -> Key:
        credential = identity.credential
        return cls(identity.user.pk, credential.pk if credential else None)


@dataclass(slots=True)
class Rights:
    """The authorities of one principal, shared by its connections.

    ``held`` is None if the principal may not be connected at all: the user is inactive
    or deleted, or the credential is revoked or expired.
    """

    held: GrantedAuthorities | None
    connections: int = 0
    answers: dict[tuple[str, str], bool] = field(default_factory=dict)

    def may(self, authority: Authority, name: str) -> bool:
        """Whether the principal has an authority on the queue or address of this
        name."""
        if (known := self.answers.get((authority, name))) is not None:
            return known
        if len(self.answers) >= MOST_ANSWERS:
            self.answers.clear()
        answer = self.held is not None and self.held.on(authority, name)
        self.answers[authority, name] = answer
        return answer

    def change(self, held: GrantedAuthorities | None) -> bool:
        """Replace the authorities; return whether the new ones differ from the old."""
        if held == self.held:
            return False
        self.held = held
        self.answers.clear()
        return True


class Principals:
    """The authorities of all connected principals; for the loop's thread."""

    def __init__(self) -> None:
        self.known: dict[Key, Rights] = {}

    def enter(self, key: Key, held: GrantedAuthorities | None) -> Rights:
        """Count one more connection of a principal; ``held`` was just read."""
        rights = self.known.setdefault(key, Rights(held))
        rights.change(held)
        rights.connections += 1
        return rights

    def leave(self, key: Key) -> None:
        rights = self.known[key]
        rights.connections -= 1
        if not rights.connections:
            del self.known[key]

    def change(self, held: dict[Key, GrantedAuthorities | None]) -> set[Key]:
        """Replace the authorities by those read; return the principals whose
        authorities differ."""
        return {
            key
            for key, now in held.items()
            if key in self.known and self.known[key].change(now)
        }


def held_by(identity: Identity) -> GrantedAuthorities | None:
    """The authorities of a principal that has just logged in; None as in ``Rights``."""
    key = Key.of(identity)
    return look([key])[key]


def look(
    keys: Collection[Key], *, now: datetime | None = None
) -> dict[Key, GrantedAuthorities | None]:
    """The current authorities of principals. Two queries, in a database thread.

    Args:
        keys: the principals.
        now: the time; by default that of the database's clock.
    """
    held = authorities.held_by_each({key.user_id for key in keys})
    ids = {key.credential_id for key in keys if key.credential_id is not None}
    good = credentials.good(now).in_bulk(list(ids)) if ids else {}
    return {key: rest_of(key, held, good) for key in keys}


def rest_of(
    key: Key, held: dict[int, GrantedAuthorities], good: dict[int, Credential]
) -> GrantedAuthorities | None:
    """The authorities of a principal: the user's, limited by the credential."""
    of_user = held.get(key.user_id)
    if key.credential_id is None or of_user is None:
        return of_user
    credential = good.get(key.credential_id)
    if credential is None or credential.user_id != key.user_id:
        return None
    return authorities.narrowed(of_user, credential)
