"""Refuse to start with a second-factor group that does not exist."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError

from console import second_factors

START = "start"  # the tag of checks that the web process and the listener run at start


@register(START, deploy=True)
def groups_exist(**_: Any) -> list[CheckMessage]:
    """Refuse a misspelt group: its members would not be asked.

    Without a database, or before it is migrated, nothing is known and nothing refused.
    """
    try:
        if not (missing := second_factors.missing_groups()):
            return []
        known = ", ".join(Group.objects.order_by("name").values_list("name", flat=True))
    except DatabaseError:
        return []
    return [
        Error(
            f"BACKOUT_SECOND_FACTOR_GROUPS names the group {name}, which does not"
            " exist.",
            hint=f"The groups are: {known or 'none'}. Correct the name. Create a new"
            " group under Settings before you name it.",
            id="console.E001",
        )
        for name in missing
    ]
