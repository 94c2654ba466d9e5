"""The second factor of people who sign in: who has one, who must, and taking it away.

The flows and their forms are django-allauth's; their pages are in
``console.views.accounts.second_factors``. Here is what it leaves open: which people
need a second factor (``gate``), that codes are tried a few times and taken once
(``codes``), that what is stored is encrypted (``adapters``), and that all of it is
audited (``records``).
"""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing
from console.models import BrowserSession, CodeTries

EVERYBODY, SUPERUSERS = "*", "superusers"  # in place of the name of a group
Type = Authenticator.Type
WORDS = {
    Type.TOTP: "authenticator app",
    Type.WEBAUTHN: "security key",
    Type.RECOVERY_CODES: "recovery codes",
}


def has_one(user: User) -> bool:
    """Whether somebody is asked for more than a password. Recovery codes alone are no
    second factor: they are there for one that is lost."""
    others = Q(type__in=[Type.TOTP, Type.WEBAUTHN])
    found: bool = Authenticator.objects.filter(others, user=user).exists()
    return found


def must_have_one(user: User) -> bool:
    """Whether somebody may do nothing without a second factor."""
    wanted = set(settings.BACKOUT_SECOND_FACTOR_GROUPS)
    if not wanted:
        return False
    if EVERYBODY in wanted or (user.is_superuser and SUPERUSERS in wanted):
        return True
    return user.groups.filter(name__in=wanted).exists()


def missing_groups() -> list[str]:
    """The groups that must have a second factor and are not there: nobody is in them,
    so nobody is asked."""
    wanted = dict.fromkeys(settings.BACKOUT_SECOND_FACTOR_GROUPS)
    named = [one for one in wanted if one not in ("", EVERYBODY, SUPERUSERS)]
    if not named or EVERYBODY in wanted:
        return []
    there = set(Group.objects.filter(name__in=named).values_list("name", flat=True))
    return [one for one in named if one not in there]


def lacks_one(user: User) -> bool:
    return must_have_one(user) and not has_one(user)


@transaction.atomic
def reset(user: User) -> str:
    """Take away all second factors of somebody who lost them, and end their sessions.

    Returns:
        a sentence that says what was done.
    """
    rows = Authenticator.objects.select_for_update().filter(user=user).order_by("pk")
    gone = [WORDS[Type(one.type)] for one in rows]
    rows.delete()
    CodeTries.objects.filter(user=user).delete()
    ended, _ = BrowserSession.objects.filter(user=user).delete()
    account = Thing("account", user.pk, user.get_username())
    detail = {"removed": gone, "sessions": ended}
    audit.record(Act.RESET_FACTOR, account, detail=detail)
    what = ", ".join(gone) or "nothing, as there was none"
    return f"Second factor of {account.name}: removed {what}. Sessions ended: {ended}."
