"""The users of the project, of whatever model (``AUTH_USER_MODEL``).

Loaded once models are: pages, the API and commands import it. What a project's own
models may import asks ``get_user_model`` when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import User
else:
    User = get_user_model()

__all__ = ["IS_DJANGOS", "NAME", "USERS", "User", "named"]

NAME = User.USERNAME_FIELD  # the field with the name by which users sign in
USERS = User._default_manager
IS_DJANGOS = User._meta.label == "auth.User"


def named(name: str) -> QuerySet[User]:
    """The user of this name, if there is one."""
    return USERS.filter(**{NAME: name})
