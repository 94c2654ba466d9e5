"""The signed-in user's own permissions and authorities, and where they come from.

No permission is needed to read them. Queues that the user may not inquire are not
named. The explanation uses the same rows as the decision itself. Rows only grant; a
right is missing because no group and no pattern grants it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db.models import Q
from django.utils.translation import gettext_noop, pgettext

from broker.formats.wildcards import ANY_WORDS, matches
from broker.models import Authority, Queue
from broker.security import authorities
from broker.security.authorities import ALL, FIELDS, Principal, overlaps
from broker.security.users import User
from console.accounts import roles
from console.edges import permissions

YOU = "you"
SUPERUSER = "superuser"


@dataclass(frozen=True, slots=True)
class ControlledAction:
    """An action of the console, and the permission and authorities it needs."""

    words: str
    permission: str
    # the authority needed on each queue of the action
    authority: authorities.Authority | None = None


DEEDS = (
    ControlledAction(
        gettext_noop("See queues and messages, without bodies and properties"),
        permissions.LOOK[0],
        "inquire",
    ),
    ControlledAction(
        gettext_noop("Read bodies and properties"), permissions.LOOK[1], "browse"
    ),
    ControlledAction(
        gettext_noop("Send messages to a queue"), permissions.LOOK[0], "put"
    ),
    ControlledAction(
        gettext_noop("Remove, expire or move messages, or change their priority"),
        permissions.CHANGE,
        "get",
    ),
    ControlledAction(
        gettext_noop("Resubmit, move, copy and restore to a queue"),
        permissions.CHANGE,
        "put",
    ),
    ControlledAction(
        gettext_noop("Back out or decide units of work"), permissions.CHANGE, "set"
    ),
    ControlledAction(
        gettext_noop("Acknowledge, snooze and annotate groups of dead letters"),
        permissions.CHANGE,
        "inquire",
    ),
    ControlledAction(
        gettext_noop("Pause, resume, reset counters"), "broker.pause_queue", "set"
    ),
    ControlledAction(
        gettext_noop("Put recurring messages at once"),
        "broker.put_recurringmessage",
        "put",
    ),
    ControlledAction(
        gettext_noop("Acknowledge and silence alerts"), "broker.operate_alert"
    ),
    ControlledAction(
        gettext_noop("Close connections"), "broker.close_clientconnection", "set"
    ),
    ControlledAction(
        gettext_noop("See links of bridges"), "broker.view_link", "inquire"
    ),
    ControlledAction(
        gettext_noop("Start, pause, resume and stop links"),
        "broker.operate_link",
        "set",
    ),
    ControlledAction(
        gettext_noop("Decide transactions of links in doubt"),
        "broker.decide_branch",
        "set",
    ),
    ControlledAction(
        gettext_noop("Approve plans of others"), "broker.approve_operation"
    ),
    ControlledAction(
        gettext_noop("Write and switch rules"), "broker.change_ruletable", "set"
    ),
    ControlledAction(gettext_noop("Read reports"), "dashboards.view_report"),
    ControlledAction(gettext_noop("Run reports"), "dashboards.run_report"),
    ControlledAction(gettext_noop("Read the audit"), "broker.view_auditrecord"),
    ControlledAction(gettext_noop("See credentials"), "broker.view_credential"),
    ControlledAction(gettext_noop("Make credentials"), "broker.add_credential"),
    ControlledAction(gettext_noop("Revoke credentials"), "broker.change_credential"),
    ControlledAction(gettext_noop("Create queues"), "broker.add_queue"),
    ControlledAction(
        gettext_noop("Change settings of addresses"), "broker.change_addresssetting"
    ),
    ControlledAction(gettext_noop("Grant authorities"), "broker.change_authority"),
)


@dataclass(frozen=True, slots=True)
class Grant:
    """Authorities on the queues that match one pattern, and who holds the grant."""

    pattern: str
    authorities: tuple[authorities.Authority, ...]
    by: str  # the holder: you, superuser, or the name of a group

    @property
    def giver(self) -> str:
        return holder(self.by)


@dataclass(frozen=True, slots=True)
class Possible:
    """An action, and whether the user has what it needs."""

    deed: ControlledAction
    by: tuple[str, ...]  # what gives the user the permission; empty: nothing does
    roles: tuple[str, ...]  # the roles that have the permission
    # patterns of the queues on which the user has the authority
    patterns: tuple[str, ...]

    @property
    def givers(self) -> list[str]:
        return list(map(holder, self.by))

    @property
    def is_possible(self) -> bool:
        return bool(self.by) and (self.deed.authority is None or bool(self.patterns))


@dataclass(frozen=True, slots=True)
class OnQueue:
    """The authorities on one queue, and the grants that give each of them. If no grant
    gives an authority, the user lacks it.
    """

    queue: str
    why: dict[authorities.Authority, tuple[Grant, ...]]


def holder(by: str) -> str:
    """Who holds a grant, in the language of the page."""
    if by == YOU:
        return pgettext("after by", "you")
    return pgettext("after by", "superuser") if by == SUPERUSER else by


def grants_of(user: Principal) -> list[Grant]:
    """The authority rows of a user, ordered by pattern. One query."""
    if not isinstance(user, User) or not user.is_active:
        return []
    held = Authority.objects.filter(Q(user=user) | Q(group__user=user))
    rows = held.select_related("group").order_by("pattern", "pk")
    found = [
        Grant(
            row.pattern,
            tuple(one for one in ALL if getattr(row, FIELDS[one])),
            row.group.name if row.group else YOU,
        )
        for row in rows
    ]
    if user.is_superuser:
        found.insert(0, Grant(ANY_WORDS, ALL, SUPERUSER))
    return narrowed(user, found)


def narrowed(user: User, grants: list[Grant]) -> list[Grant]:
    """The grants, limited to the rights of the credential. Without a credential, all
    grants.
    """
    credential = authorities.credential_of(user)
    if credential is None:
        return grants
    left = authorities.narrowed(authorities.EVERYTHING, credential).patterns
    return [
        Grant(pattern, tuple(one for one in grant.authorities if one in left), grant.by)
        for grant in grants
        for pattern in overlaps([grant.pattern], credential.patterns)
    ]


def givers_of(user: User) -> dict[str, tuple[str, ...]]:
    """The sources of each permission that a user has. Two queries."""
    every = Permission.objects.select_related("content_type")
    pairs = [
        (name_of(one), YOU) for one in every.filter(user=user).order_by("codename")
    ]
    groups = Group.objects.filter(user=user).order_by("name")
    for group in groups.prefetch_related("permissions__content_type"):
        pairs += [(name_of(one), group.name) for one in group.permissions.all()]
    found: dict[str, tuple[str, ...]] = {}
    for name, giver in pairs:
        found[name] = (*found.get(name, ()), giver)
    return found


def name_of(permission: Permission) -> str:
    return f"{permission.content_type.app_label}.{permission.codename}"


def possible(user: User, grants: Sequence[Grant]) -> list[Possible]:
    """Every action, the user's rights for it, and the roles with its permission."""
    given = givers_of(user)
    super_ = (SUPERUSER,) if user.is_superuser else ()
    return [
        Possible(
            deed,
            (super_ or given.get(deed.permission, ()))
            if permissions.may(user, deed.permission)
            else (),
            tuple(
                roles.name_of(one)
                for one, has in roles.ROLES.items()
                if deed.permission in has
            ),
            tuple(
                dict.fromkeys(
                    g.pattern for g in grants if deed.authority in g.authorities
                )
            ),
        )
        for deed in DEEDS
    ]


def on_queues(grants: Sequence[Grant], names: Iterable[str]) -> list[OnQueue]:
    """Each authority on each queue, and the grants that give it."""
    return [
        OnQueue(
            name,
            {
                one: tuple(
                    grant
                    for grant in grants
                    if one in grant.authorities and matches(grant.pattern, name)
                )
                for one in ALL
            },
        )
        for name in names
    ]


def queues_like(user: Principal, text: str) -> list[str]:
    """Queues the user may inquire whose names contain a text, by name."""
    names = Queue.objects.filter(name__icontains=text).order_by("name")
    return sorted(
        authorities.allowed(user, "inquire", names.values_list("name", flat=True))
    )
