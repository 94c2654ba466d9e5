"""The caller's own permissions and authorities, and where they come from."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from broker.security import authorities
from broker.security.users import User
from console.accounts import own_permissions
from console.edges.rest.problems import NO_NUL, REFUSED

router = Router(tags=["rights"])


class Given(Schema):
    """Authorities on the queues that match one pattern."""

    pattern: str
    authorities: list[str]
    by: str  # the holder: you, superuser, or the name of a group


class PermittedAction(Schema):
    """An action, and whether the caller has the rights for it."""

    deed: str  # the action, in words
    permission: str
    authority: str | None  # the authority needed on each queue of the action
    is_possible: bool
    by: list[str]  # sources of the permission; empty: the caller lacks it
    roles: list[str]  # the roles that have the permission
    patterns: list[str]  # patterns of queues with the authority


class OnQueue(Schema):
    """Authorities on a queue, each with its granting patterns and their holders."""

    queue: str
    authorities: dict[str, list[str]]


class Rights(Schema):
    """A page of queues; the next page begins after ``next``."""

    name: str
    groups: list[str]
    is_superuser: bool
    deeds: list[PermittedAction]
    grants: list[Given]
    queues: list[OnQueue]
    next: str | None


class OwnRightsQuery(Schema):
    """Which queues, by name, and the size of the page."""

    # part of the queues' names
    text: str = Field(default="", max_length=255, pattern=NO_NUL)
    after: str = Field(default="", max_length=255, pattern=NO_NUL)
    limit: int = Field(default=100, ge=1, le=1000)


@router.get("/rights", response={200: Rights, **REFUSED}, summary="Your rights")
def read_rights(request: HttpRequest, page: Query[OwnRightsQuery]) -> dict[str, Any]:
    """The rights of the caller: a user, or a credential with what it leaves of its
    user's rights. Needs no permission. Lists queues that the caller may inquire.
    """
    user = request.user
    assert isinstance(user, User), "only those who are known get here"
    grants = own_permissions.grants_of(user)
    names = own_permissions.queues_like(user, page.text.strip())
    rest = [name for name in names if name > page.after]
    part = rest[: page.limit]
    return {
        "name": authorities.name_of(user),
        "groups": list(user.groups.order_by("name").values_list("name", flat=True)),
        "is_superuser": user.is_superuser,
        "deeds": [
            right_document(one) for one in own_permissions.possible(user, grants)
        ],
        "grants": grants,
        "queues": [
            {
                "queue": one.queue,
                "authorities": {
                    authority: [f"{grant.pattern} by {grant.by}" for grant in found]
                    for authority, found in one.why.items()
                },
            }
            for one in own_permissions.on_queues(grants, part)
        ],
        "next": part[-1] if len(rest) > page.limit else None,
    }


def right_document(one: own_permissions.Possible) -> dict[str, Any]:
    return {
        "deed": one.deed.words,
        "permission": one.deed.permission,
        "authority": one.deed.authority,
        "is_possible": one.is_possible,
        "by": one.by,
        "roles": one.roles,
        "patterns": one.patterns,
    }
