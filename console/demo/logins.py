"""Credentials of the demonstration's clients.

Their secrets are in a file that only its owner can read, so they survive restarts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings

from broker.models import Authority, Credential
from broker.security import credentials
from broker.security.users import User

USER = "demo"
PATTERN = "shop.#"
SHOP = {"may_get": False, "may_browse": False}
WAREHOUSE = {"may_put": False, "may_browse": False}


@dataclass(frozen=True, slots=True)
class Login:
    """The name and the secret of a credential."""

    name: str
    secret: str


def logins() -> dict[str, Login]:
    """The credentials of the shop and the warehouse; created if missing."""
    user = make_user()
    kept = read()
    found = {
        name: known(kept.get(name)) or make(name, user, may)
        for name, may in (("demo-shop", SHOP), ("demo-warehouse", WAREHOUSE))
    }
    write({name: [one.name, one.secret] for name, one in found.items()})
    return found


def make_user() -> User:
    """The clients' user, who cannot sign in, with authorities on the shop's queues."""
    user, is_new = User.objects.get_or_create(username=USER)
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        Authority.objects.create(
            user=user, pattern=PATTERN, may_get=True, may_put=True, may_inquire=True
        )
    return user


def known(kept: list[str] | None) -> Login | None:
    """Stored credentials that are still valid."""
    if kept is None or credentials.verify(*kept) is None:
        return None
    return Login(*kept)


def make(name: str, user: User, may: Mapping[str, Any]) -> Login:
    """Create a credential; if its name is taken, append a number."""
    taken = set(
        Credential.objects.filter(name__startswith=name).values_list("name", flat=True)
    )
    free = next(
        one
        for number in count(1)
        if (one := name if number == 1 else f"{name}-{number}") not in taken
    )
    credential, secret = credentials.create(free, user, patterns=PATTERN, **may)
    return Login(credential.name, secret)


def file() -> Path:
    return settings.VAR_DIR / "demo" / "credentials.json"


def read() -> dict[str, list[str]]:
    try:
        kept: dict[str, list[str]] = json.loads(file().read_text())
    except FileNotFoundError:
        return {}
    return kept


def write(kept: dict[str, list[str]]) -> None:
    file().parent.mkdir(parents=True, exist_ok=True)
    file().touch(mode=0o600)
    file().write_text(json.dumps(kept))
