"""System checks of bridges: stored passwords can be decrypted, the keys are valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connection, transaction

from broker.bridges import secrets
from broker.errors.bridges import SecretsLost


@register(Tags.database)
def passwords_can_be_read(
    *, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Warn if a stored password cannot be decrypted: its links cannot connect."""
    if "default" not in (databases or []) or connection.vendor != "postgresql":
        return []
    try:
        with transaction.atomic():
            secrets.check_all()
    except (ImproperlyConfigured, SecretsLost) as error:
        return [checks.Warning(str(error), id="broker.secrets-lost")]
    except ProgrammingError:  # the tables of bridges are created by a later migration
        return []
    return []


@register("broker")
def keys_are_meant(**_: Any) -> list[CheckMessage]:
    """Report an error if the keys for encryption are invalid. A project without links
    needs none."""
    try:
        if settings.BACKOUT_SECRET_KEYS:
            secrets.box()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="broker.E005")]
    return []
