"""Audit records of sign-in, sign-out, failed sign-in and password changes.

A user name that does not exist is not recorded: it may be a mistyped password.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.signals import (
    user_logged_in,
    user_logged_out,
    user_login_failed,
)
from django.db import transaction
from django.db.models.signals import post_save
from django.http import HttpRequest

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing
from broker.security.users import NAME, User, named

ACCOUNT = "account"
UNKNOWN = "There is no such name."
# The most characters of a user name.
LONGEST: int = getattr(User._meta.get_field(NAME), "max_length", None) or 254
WRONG = "The password was wrong, or attempts were blocked for a while."


class SignInForm(AuthenticationForm):
    def clean_username(self) -> str:
        """Refuse a name longer than any user name: no sign-in is tried or counted."""
        name: str = self.cleaned_data["username"]
        if len(name) > LONGEST:
            raise self.get_invalid_login_error()
        return name


def listen() -> None:
    user_logged_in.connect(signed_in)
    user_logged_out.connect(signed_out)
    user_login_failed.connect(failed)
    post_save.connect(saved, sender=User)


def signed_in(user: User, **_: Any) -> None:
    audit.record(Act.SIGN_IN, account(user), by=user)


def signed_out(user: User | None, **_: Any) -> None:
    if user is not None:  # None: nobody was signed in
        audit.record(Act.SIGN_OUT, account(user), by=user)


def failed(
    credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Record a failed sign-in: wrong user name or password."""
    if request is None:  # the attempt did not come from a page or a client
        return
    name = str(credentials.get("username", "")).replace("\0", "")
    user = named(name[:LONGEST]).first()
    thing = Thing(ACCOUNT) if user is None else account(user)
    audit.refuse(Act.SIGN_IN, thing, reason=UNKNOWN if user is None else WRONG)


@transaction.atomic
def saved(instance: User, created: bool, raw: bool, **_: Any) -> None:  # noqa: FBT001
    """Record a new password, and a user created outside the pages: pages record the
    users that they create.
    """
    if raw:
        return
    if created:
        if not audit.is_acting():
            audit.record(Act.CREATE_ACCOUNT, account(instance))
    elif getattr(instance, "_password", None) is not None:
        audit.record(Act.SET_PASSWORD, account(instance))


def account(user: User) -> Thing:
    return Thing(ACCOUNT, user.pk, user.get_username())
