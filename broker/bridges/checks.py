"""What the bridges advise on before anything runs: passwords that cannot be read."""

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
    """Warn of a lost key: the links that need it cannot connect."""
    if "default" not in (databases or []):
        return []
    try:
        with transaction.atomic():
            secrets.check_all()
    except SecretsLost as error:
        return [checks.Warning(str(error), id="broker.secrets-lost")]
    except ProgrammingError:  # its tables are made by the migration that comes next
        return []
    return []


@register
def keys_are_meant(**_: Any) -> list[CheckMessage]:
    """Refuse keys with which nothing could be encrypted."""
    try:
        secrets.box()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="broker.E005")]
    return []
