"""Statements that read users, for whatever model the project has.

They are written for the tables of ``django.contrib.auth``. Those of another model have
other names.
"""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth import get_user_model

NAMES = re.compile(
    rb"\bauth_user_groups\b|\bauth_user\b"
    rb"|\baccount\.(?:id|username)\b|\bmember\.user_id\b"
)


def of_project(statement: bytes) -> bytes:
    """The statement with the names of the project's tables and columns."""
    if b"auth_user" not in statement:
        return statement
    model: Any = get_user_model()
    groups = model._meta.get_field("groups")
    name = model._meta.get_field(model.USERNAME_FIELD)
    found = {
        b"auth_user": model._meta.db_table,
        b"auth_user_groups": groups.m2m_db_table(),
        b"account.id": f'account"."{model._meta.pk.column}',
        b"account.username": f'account"."{name.column}',
        b"member.user_id": f'member"."{groups.m2m_column_name()}',
    }
    return NAMES.sub(lambda one: b'"%b"' % found[one[0]].encode(), statement)
