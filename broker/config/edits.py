"""Change one address setting, with optimistic locking by version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from broker.config.address_settings import DEFAULTS
from broker.config.documents import defined, read_one
from broker.errors.settings import ChangedSinceRead
from broker.models import Act, AddressSetting
from broker.security import audit


def version(setting: AddressSetting) -> str:
    """A digest of a setting's pattern and its definitions."""
    said = json.dumps([setting.match, defined(setting)], ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


@transaction.atomic
def define(
    match: str, values: Mapping[str, Any], *, expected: str | None = None
) -> tuple[AddressSetting, bool]:
    """Set all definitions of a pattern. A change is effective at once.

    Args:
        match: the pattern.
        values: the value of each field; a field that is null or missing is not defined.
        expected: the version that the user has seen; empty: no setting; None: any
            version.

    Returns:
        The setting as it is now, and whether it is new.

    Raises:
        WrongSettings: a name or a value is invalid; nothing was changed.
        ChangedSinceRead: the stored version is another one.
    """
    wanted = read_one({**values, "match": match}, "the setting")
    stored = held(match, expected)
    setting = stored or AddressSetting(match=match)
    before = audit.state_of(setting)
    for field in DEFAULTS:
        setattr(setting, field, getattr(wanted, field))
    setting.save()
    act = Act.CHANGE if stored else Act.CREATE
    note(act, audit.Thing.of(setting), before, audit.state_of(setting))
    return setting, stored is None


@transaction.atomic
def remove(match: str, *, expected: str | None = None) -> AddressSetting | None:
    """Delete the setting of a pattern; return the deleted setting, if there was one.

    Raises:
        ChangedSinceRead: the stored version is not the expected version.
    """
    stored = held(match, expected)
    if stored is not None:
        before = audit.state_of(stored)
        AddressSetting.objects.filter(pk=stored.pk).delete()
        note(Act.DELETE, audit.Thing.of(stored), before, {})
    return stored


def note(
    act: Act, on: audit.Thing, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Record a change of a setting in the audit."""
    audit.record(act, on, detail={"changed": audit.changes(before, after)})


def held(match: str, expected: str | None) -> AddressSetting | None:
    """The setting of a pattern, locked, if there is one.

    Raises:
        ChangedSinceRead: the stored version is not the expected version.
    """
    rows = AddressSetting.objects.select_for_update().filter(match=match)
    stored = rows.first()
    if expected is not None and expected != (version(stored) if stored else ""):
        raise ChangedSinceRead(match)
    return stored
