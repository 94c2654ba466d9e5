"""Credentials of applications, and one's own rights, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from broker.acts.credentials import (
    VIEW,
    CredentialState,
    credentials_after,
    describe_credential,
)
from broker.acts.declaring import Holds
from broker.errors.acts import NoPerson
from broker.security import authorities
from broker.security.authorities import Principal
from broker.security.users import User
from console.accounts import own_permissions
from console.edges.queries import build_answer, declared_query, page_of


@dataclass(frozen=True, slots=True)
class Credentials:
    """A page of credentials; the next page begins after ``next``."""

    empty: ClassVar = "There is no credential."

    credentials: list[CredentialState]
    next: str | None


@dataclass(frozen=True, slots=True)
class ListCredentials:
    """Which credentials, by name, and the size of the page."""

    after: Annotated[str, Holds("The name after which the page begins.", most=100)] = ""
    limit: Annotated[
        int, Holds("The most credentials to return.", least=1, most=500)
    ] = 50


@declared_query(VIEW)
def list_credentials(actor: Principal, request: ListCredentials) -> Credentials:
    """The credentials of applications, by name, also those revoked or expired."""
    found = list(credentials_after(request.after)[: request.limit + 1])
    part, following = page_of(found, request.limit, lambda one: one.name)
    return Credentials(
        [describe_credential(one) for one in part],
        following,
    )


@dataclass(frozen=True, slots=True)
class Given:
    """Authorities on the queues that match one pattern."""

    pattern: str
    authorities: Sequence[str]
    by: str  # the holder: you, superuser, or the name of a group


@dataclass(frozen=True, slots=True)
class PermittedAction:
    """An action, and whether the caller has the rights for it."""

    columns: ClassVar[Sequence[str]] = ("deed", "is_possible", "by", "patterns")

    deed: str  # the action, in words
    permission: str
    authority: str | None  # the authority needed on each queue of the action
    is_possible: bool
    by: Sequence[str]  # sources of the permission; empty: the caller lacks it
    roles: Sequence[str]  # the roles that have the permission
    patterns: Sequence[str]  # patterns of queues with the authority


@dataclass(frozen=True, slots=True)
class OnQueue:
    """Authorities on a queue, each with its granting patterns and their holders."""

    queue: str
    authorities: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Rights:
    """A page of queues; the next page begins after ``next``."""

    name: str
    groups: list[str]
    is_superuser: bool
    deeds: list[PermittedAction]
    grants: list[Given]
    queues: list[OnQueue]
    next: str | None


@dataclass(frozen=True, slots=True)
class ReadRights:
    """Which queues, by name, and the size of the page."""

    text: Annotated[str, Holds("Part of the queues' names.", most=255)] = ""
    after: Annotated[str, Holds("The name after which the page begins.", most=255)] = ""
    limit: Annotated[int, Holds("The most queues to return.", least=1, most=1000)] = 100


@declared_query()
def read_rights(actor: Principal, request: ReadRights) -> Rights:
    """Your rights.

    Those of the caller: a user, or a credential with what it leaves of its user's
    rights. Lists queues that the caller may inquire.
    """
    if not isinstance(actor, User):
        raise NoPerson
    grants = own_permissions.grants_of(actor)
    names = own_permissions.queues_like(actor, request.text.strip())
    rest = [name for name in names if name > request.after]
    part, following = page_of(rest, request.limit, lambda one: one)
    return Rights(
        name=authorities.name_of(actor),
        groups=list(actor.groups.order_by("name").values_list("name", flat=True)),
        is_superuser=actor.is_superuser,
        deeds=[
            build_answer(
                PermittedAction,
                one,
                deed=one.deed.words,
                permission=one.deed.permission,
                authority=one.deed.authority,
            )
            for one in own_permissions.possible(actor, grants)
        ],
        grants=[build_answer(Given, one) for one in grants],
        queues=[
            OnQueue(
                one.queue, {name: sources(found) for name, found in one.why.items()}
            )
            for one in own_permissions.on_queues(grants, part)
        ],
        next=following,
    )


def sources(grants: Sequence[own_permissions.Grant]) -> list[str]:
    return [f"{one.pattern} by {one.by}" for one in grants]
