"""Second factors of users: who has one, who must have one, and resetting it.

Flows and forms are django-allauth's (a project may have none); the pages are in
``console.home.pages.signing_in``. This package adds who needs a second factor
(``gate``), limited tries and single use of codes (``codes``), encrypted secrets
(``adapters``) and audit records (``records``).
"""

from __future__ import annotations

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet, TextChoices
from django.utils.translation import gettext, gettext_noop

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing
from broker.security.users import USERS, User
from console.models import BrowserSession, CodeTries

EVERYBODY, SUPERUSERS = "*", "superusers"  # values used in place of the name of a group


class Type(TextChoices):
    """As django-allauth stores them."""

    TOTP = "totp"
    WEBAUTHN = "webauthn"
    RECOVERY_CODES = "recovery_codes"


WORDS = {
    Type.TOTP: gettext_noop("authenticator app"),
    Type.WEBAUTHN: gettext_noop("security key"),
    Type.RECOVERY_CODES: gettext_noop("recovery codes"),
}


def are_installed() -> bool:
    """Whether the project has second factors by django-allauth."""
    return apps.is_installed("allauth.mfa")


def stored(user: User) -> QuerySet[Model]:
    """The rows of a user's second factors, with recovery codes."""
    found: QuerySet[Model] = apps.get_model("mfa", "Authenticator").objects.filter(
        user=user
    )
    return found


def has_one(user: User) -> bool:
    """Whether the user has a second factor. Recovery codes alone do not count: they
    replace a lost one.
    """
    if not are_installed():
        return False
    return stored(user).filter(type__in=[Type.TOTP, Type.WEBAUTHN]).exists()


def must_have_one(user: User) -> bool:
    """Whether the user needs a second factor to do anything.

    A missing group exempts nobody: its members are no longer known, so that everybody
    needs a second factor until it exists, or is not required any more. One query.
    """
    wanted = set(settings.BACKOUT_SECOND_FACTOR_GROUPS)
    if EVERYBODY in wanted or (user.is_superuser and SUPERUSERS in wanted):
        return True
    if not (named := named_groups()):
        return False
    mine = USERS.filter(pk=user.pk, groups=OuterRef("pk"))
    groups = Group.objects.filter(name__in=named).values_list(Exists(mine))
    memberships = [is_in for (is_in,) in groups]
    return any(memberships) or len(memberships) < len(named)


def named_groups() -> list[str]:
    """The groups that require a second factor; none if everybody needs one."""
    wanted = dict.fromkeys(settings.BACKOUT_SECOND_FACTOR_GROUPS)
    if EVERYBODY in wanted:
        return []
    return [one for one in wanted if one not in ("", SUPERUSERS)]


def missing_groups() -> list[str]:
    """Groups that require a second factor but do not exist."""
    named = named_groups()
    if not named:
        return []
    there = set(Group.objects.filter(name__in=named).values_list("name", flat=True))
    return [one for one in named if one not in there]


def lacks_one(user: User) -> bool:
    return must_have_one(user) and not has_one(user)


@transaction.atomic
def reset(user: User) -> str:
    """Delete all second factors of a user who lost them, and end their sessions.

    Returns:
        a sentence about the result.
    """
    gone = []
    if are_installed():
        rows = stored(user).select_for_update().order_by("pk")
        gone = [WORDS[Type(one)] for one in rows.values_list("type", flat=True)]
        rows.delete()
    CodeTries.objects.filter(user=user).delete()
    ended, _ = BrowserSession.objects.filter(user=user).delete()
    account = Thing("account", user.pk, user.get_username())
    detail = {"removed": gone, "sessions": ended}
    audit.record(Act.RESET_FACTOR, account, detail=detail)
    what = ", ".join(map(gettext, gone)) or gettext("nothing, as there was none")
    words = gettext(
        "Second factor of %(user)s: removed %(what)s. Sessions ended: %(n)s."
    )
    return words % {"user": account.name, "what": what, "n": ended}
