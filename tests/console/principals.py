"""Whoever may ask: nobody, each role, who has one authority alone, and a machine."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from broker.security import authorities, credentials
from console.accounts import roles
from tests.make import make_user

ANONYMOUS = "anonymous"
MACHINE = "machine"  # by the credential of an operator
READERS = ("viewer", "auditor")
NAMES = (ANONYMOUS, *roles.ROLES, *authorities.ALL, MACHINE)
HANDLER = Client().handler  # shared: each would load all middleware


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who asks, and by what they are known."""

    name: str
    cookie: str = ""  # of a session
    secret: str = ""  # of a credential

    def client(self) -> Client:
        """A browser of theirs, or a program, that has asked for nothing yet."""
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else None
        client = Client(headers=headers)
        client.handler = HANDLER
        if self.cookie:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.cookie
        return client


def make_principals() -> dict[str, Principal]:
    """All of them, by name. The administrator is the first user that there is.

    Whoever has one authority alone has it on every queue, and all permissions: what
    they may not, they may not for want of an authority.
    """
    everything = tuple(roles.ROLES["administrator"])
    made = [signed_in("administrator", everything, authorities.ALL)]
    for role in [one for one in roles.ROLES if one != "administrator"]:
        made.append(signed_in(role, tuple(roles.ROLES[role]), roles.AUTHORITIES[role]))
    for authority in authorities.ALL:
        made.append(signed_in(authority, everything, (authority,)))
    _, secret = credentials.create("machine", User.objects.get(username="operator"))
    made += [Principal(ANONYMOUS), Principal(MACHINE, secret=secret)]
    return {one.name: one for one in made}


def signed_in(
    name: str,
    permissions: tuple[str, ...],
    granted: tuple[authorities.Authority, ...],
    pattern: str = "#",
) -> Principal:
    user = make_user(name, permissions=permissions, granted=granted, pattern=pattern)
    client = Client()
    client.force_login(user)
    return Principal(name, cookie=client.cookies[settings.SESSION_COOKIE_NAME].value)
