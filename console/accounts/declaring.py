"""All kinds of objects, users among them, and the rights that a declared change needs.

Accounts are declared without a password: an administrator sets one under Settings, or
people sign in elsewhere. Nobody grants more than they have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.utils.module_loading import autodiscover_modules

import broker.alerts.kinds  # noqa: F401  # with bridges': they register themselves
from broker.declarations import Attribute, ObjectChange, ObjectKind, register
from broker.declarations.object_kind import Key, Values
from broker.errors.settings import NoSuchObject, ObjectInUse
from broker.models import Queue
from broker.security import authorities, granting
from broker.security.users import NAME, User, named
from console.edges import permissions

# of these, only the fields that the user model has are used
FIELDS = ("email", "is_active", "is_staff")
KNOWN = {one.name for one in User._meta.fields}
DEEDS = {"create": "add", "alter": "change", "delete": "delete"}
STRONGER = "The account {} has permissions that you lack, or would get some."


class UserKind(ObjectKind):
    name, plural, model, rank = "user", "users", User, 5
    keys = ("username",)
    can_be_pruned = False

    def __init__(self) -> None:
        self.fields = [one for one in FIELDS if one in KNOWN and one != NAME]
        super().__init__(*self.fields)
        help_text = "The groups, such as viewer, operator or administrator."
        groups = Attribute("groups", list, [], help=help_text)
        self.attributes = {**self.attributes, "groups": groups}

    def order(self) -> Key:
        return (NAME,)

    def key_of(self, row: User) -> Key:
        return (row.get_username(),)

    def named(self, key: Key) -> QuerySet[Any]:
        return named(key[0])

    def new(self, key: Key, where: str) -> User:
        user = User(**{NAME: key[0]})
        user.set_unusable_password()
        return user

    def values_of(self, row: User) -> dict[str, Any]:
        plain = {name: getattr(row, name) for name in self.fields}
        groups = row.groups.order_by("name").values_list("name", flat=True)
        return plain | {"groups": list(groups)}

    def fill(self, row: User, values: Values) -> None:
        super().fill(row, {k: v for k, v in values.items() if k != "groups"})

    def references(self) -> set[str]:
        return {"password"}

    def save(self, row: User, key: Key, values: Values) -> None:
        super().save(row, key, values)
        if "groups" in values:
            found = {one.name: one for one in Group.objects.all()}
            for name in values["groups"]:
                if name not in found:
                    why = f"There is no group {name!r}. Create it under Settings."
                    raise ObjectInUse(self.name, key[0], why)
            row.groups.set([found[name] for name in values["groups"]])


USER = UserKind()
register(USER)
autodiscover_modules("kinds")


def permission(kind: ObjectKind, deed: str) -> str:
    """Django's permission to view, add, change or delete objects of a kind."""
    if deed == "view" and kind.view:
        return kind.view
    return f"{kind.model._meta.app_label}.{deed}_{kind.model._meta.model_name}"


def require_rights(user: User | None, changes: Iterable[ObjectChange]) -> None:
    """Check that a user may make these changes; None is the process itself, which may.

    Raises:
        PermissionDenied: a permission is missing.
        NotAuthorized: an authority on a queue is missing.
    """
    for change in changes if user is not None else ():
        assert user is not None
        needed = permission(change.kind, DEEDS[change.verb])
        if not permissions.may(user, needed):
            raise PermissionDenied(f"The permission {needed} is missing.")
        row = change.kind.named(change.key).first()
        if row is not None and not change.kind.is_visible(user, row):
            raise NoSuchObject(change.kind.noun, " ".join(change.key))
        if change.verb != "delete":
            change.kind.require_authorities(user, row, change.values)
        if change.kind.model is Queue and change.purge:
            authorities.require(user, "get", change.key[0])
        if change.kind is USER:
            require_strength(user, change)


def require_strength(user: User, change: ObjectChange) -> None:
    """Nobody changes an account that may more than they, or gives it more.

    Raises:
        PermissionDenied: the change would.
    """
    other = named(change.key[0]).first()
    chosen = Group.objects.filter(name__in=change.values.get("groups", ()))
    wanted = set(chosen.values_list("name", flat=True))
    may_give = set(granting.groups(user).values_list("name", flat=True))
    if other is not None:
        may_give |= set(other.groups.values_list("name", flat=True))
    if not wanted <= may_give or (other and not granting.may_manage(user, other)):
        raise PermissionDenied(STRONGER.format(change.key[0]))
