"""Second factors in the audit: set up, removed, made anew. Never what they are made of.

They are heard of where they are stored, so that a record is of the same transaction.
"""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.db.models.signals import post_delete, post_save

from broker.models import Act
from broker.security import audit
from console.accounts.sign_in_audit import account
from console.second_factors import WORDS, Type


def listen() -> None:
    post_save.connect(saved, sender=Authenticator)
    post_delete.connect(deleted, sender=Authenticator)


def saved(instance: Authenticator, *, created: bool, raw: bool, **_: Any) -> None:
    if created and not raw:
        is_list = instance.type == Type.RECOVERY_CODES
        note(Act.NEW_CODES if is_list else Act.ADD_FACTOR, instance)


def deleted(instance: Authenticator, *, origin: Any, **_: Any) -> None:
    """One by one: a reset has its own record, and so has what replaces codes."""
    if origin is instance:
        note(Act.REMOVE_FACTOR, instance)


def note(act: Act, one: Authenticator) -> None:
    """That somebody did something with a second factor of theirs."""
    kind = Type(one.type)
    detail = {"kind": WORDS[kind]}
    if kind == Type.WEBAUTHN:
        detail["name"] = one.wrap().name
    audit.record(act, account(one.user), by=one.user, detail=detail)
