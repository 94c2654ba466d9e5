"""Users who sign in through the provider: who they are, and which groups they are in.

The groups that ``BACKOUT_OIDC`` names are the provider's to give: at each sign-in they
are added and removed. Other groups of a user stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialLogin
from django.contrib.auth.models import Group, User
from django.db import transaction

from broker.models import Act
from broker.security import audit
from console.accounts import roles
from console.accounts.sign_in_audit import LONGEST, account
from console.single_sign_on import Provider


class Refused(Exception):
    """Somebody may not sign in. The text is for them, and for the audit."""


def admitted(login: SocialLogin, provider: Provider) -> User:
    """The user who signs in, with the roles of now. Changes are audited, also if the
    sign-in is refused.

    Raises:
        Refused: the user has no role any more, is switched off, or has no name of
            their own here.
    """
    found = login.user if login.is_existing else None
    wanted = granted_groups(login.claims, provider)
    if found is not None:
        set_groups(found, wanted, provider)
        if not found.is_active:
            raise Refused(
                f"The account {found.get_username()} is switched off here. Ask an"
                " administrator of this console."
            )
    if not wanted:
        raise Refused(
            f"None of your groups at {provider.name} gives a role here. Ask an"
            " administrator of this console which group you need."
        )
    return found or made(login, wanted, provider)


def granted_groups(claims: Mapping[str, Any], provider: Provider) -> set[str]:
    """The names of the console's groups that the claims give."""
    told = claim(claims, provider.groups_claim)
    theirs = [told] if isinstance(told, str) else told
    if not isinstance(theirs, list):
        return set()
    given = {provider.groups[one] for one in theirs if one in provider.groups}
    return set(map(group_name, given))


def group_name(role: str) -> str:
    return roles.name_of(role) if role in roles.ROLES else role


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim of that name, or else what its dots lead to; None if there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


@transaction.atomic
def set_groups(user: User, wanted: set[str], provider: Provider) -> None:
    """Give and take the groups that are the provider's to give, and record it."""
    managed = set(map(group_name, provider.groups.values()))
    own = set(user.groups.values_list("name", flat=True))
    add, remove = wanted - own, (own & managed) - wanted
    is_staff = group_name("administrator") in wanted | (own - managed)
    if not (add or remove or user.is_staff != is_staff):
        return
    before = audit.state_of(user)
    user.groups.add(*Group.objects.filter(name__in=add))
    user.groups.remove(*Group.objects.filter(name__in=remove))
    if user.is_staff != is_staff:
        user.is_staff = is_staff
        user.save(update_fields=["is_staff"])
    changed = audit.changes(before, audit.state_of(user))
    if changed:
        why = f"Groups at {provider.name}."
        detail = {"changed": changed}
        audit.record(Act.CHANGE, user, by=user, reason=why, detail=detail)


@transaction.atomic
def made(login: SocialLogin, wanted: set[str], provider: Provider) -> User:
    """A new user, without a password.

    Raises:
        Refused: the provider tells no name, or one that is taken here.
    """
    name = claim(login.claims, provider.username_claim)
    if not isinstance(name, str) or not 0 < len(name.strip()) <= LONGEST:
        raise Refused(
            f"{provider.name} told no name for you (the claim"
            f" {provider.username_claim}). Ask an administrator."
        )
    name = name.strip().replace("\0", "")
    if User.objects.filter(username__iexact=name).exists():
        raise Refused(
            f"There is another account {name} here, and it does not belong to your"
            f" account at {provider.name}. An administrator can rename or delete it."
        )
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    login.account.user = user
    login.account.save()
    why = f"First sign-in through {provider.name}."
    audit.record(Act.CREATE_ACCOUNT, account(user), by=user, reason=why)
    set_groups(user, wanted, provider)
    return user
