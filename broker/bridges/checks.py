"""System checks of bridges: stored passwords can be decrypted, the keys are valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, transaction

from broker.bridges import secrets
from broker.errors.bridges import SecretsLost


@register(Tags.database)
def passwords_can_be_read(
    *, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Warn if a stored password cannot be decrypted: its links cannot connect."""
    if "default" not in (databases or []):
        return []
    try:
        with transaction.atomic():
            secrets.check_all()
    except SecretsLost as error:
        return [checks.Warning(str(error), id="broker.secrets-lost")]
    except ProgrammingError:  # the tables of bridges are created by a later migration
        return []
    return []


@register("broker")
def keys_are_meant(**_: Any) -> list[CheckMessage]:
    """Report an error if the keys for encryption are invalid."""
    try:
        secrets.box()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="broker.E005")]
    return []
