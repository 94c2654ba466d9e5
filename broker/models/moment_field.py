"""The type of the columns that are a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from broker.formats import moments


class MomentField(models.DateTimeField):
    """A time with its offset from UTC, whatever the project's settings are.

    With ``USE_TZ = False`` Django takes the offsets off, and with ``TIME_ZONE`` in
    ``DATABASES`` they are those of that zone. Migrations see the field of Django.
    """

    def get_db_converters(
        self, connection: BaseDatabaseWrapper
    ) -> list[Callable[..., Any]]:
        found = super().get_db_converters(connection)
        if settings.USE_TZ and connection.timezone_name == "UTC":
            return found
        return [*found, in_utc]

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs


def in_utc(
    value: datetime | None, _: object, connection: BaseDatabaseWrapper
) -> datetime | None:
    """A value as the driver gives it; of a time that clocks show twice, its ``fold``
    says which it is."""
    if value is None:
        return None
    return moments.by_clock(value, ZoneInfo(connection.timezone_name)).astimezone(UTC)
