"""Audit records of second factors: set up, removed, renewed; without their secrets.

They are written by signals where factors are stored, in the same transaction.
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
    """Single deletions: a reset and a replacement of codes have their own records."""
    if origin is instance:
        note(Act.REMOVE_FACTOR, instance)


def note(act: Act, one: Authenticator) -> None:
    """Record a user's change of their second factor."""
    kind = Type(one.type)
    detail = {"kind": WORDS[kind]}
    if kind == Type.WEBAUTHN:
        detail["name"] = one.wrap().name
    audit.record(act, account(one.user), by=one.user, detail=detail)
