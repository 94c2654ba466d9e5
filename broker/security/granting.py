"""Limits of user management: nobody grants, or takes over, more rights than they have.

A user who may change users could otherwise become a superuser in two steps, by a form's
field or by the password of a stronger account. A superuser has no limit.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

from broker.security.users import User


def permissions(user: User) -> QuerySet[Permission]:
    """The permissions that a user may grant: their own."""
    every = Permission.objects.all()
    return (every if user.is_superuser else every.filter(of(user))).distinct()


def groups(user: User) -> QuerySet[Group]:
    """The groups that a user may put others into: those with no other permission."""
    every = Group.objects.all()
    if user.is_superuser:
        return every
    missing = Permission.objects.exclude(pk__in=permissions(user).values("pk"))
    return every.exclude(permissions__in=missing)


def may_manage(user: User, other: User) -> bool:
    """Whether a user may change or delete an account, or reset its second factors.

    The account must have no permission that the user lacks, even while it is inactive.
    """
    if user.is_superuser or user.pk == other.pk:
        return True
    if other.is_superuser:
        return False
    missing = Permission.objects.exclude(pk__in=permissions(user).values("pk"))
    return not missing.filter(of(other)).exists()


def of(user: User) -> Q:
    return Q(user=user) | Q(group__user=user)
