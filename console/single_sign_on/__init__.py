"""Sign-in through a provider of OpenID Connect, such as Keycloak or Entra ID.

The protocol is django-allauth's: the code flow with PKCE and state (``protocol`` adds
the nonce, and verifies every signature). What is the console's own: the groups of the
provider decide the roles at each sign-in (``members``), and the rest of the sign-in is
that of passwords: sessions, limits and the second factor (``views``).

``BACKOUT_OIDC`` has the settings; without an issuer there is no such sign-in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Provider:
    """The settings ``BACKOUT_OIDC``."""

    issuer: str  # URL; its discovery document is below /.well-known/
    client_id: str
    client_secret: str
    name: str = "single sign-on"  # the text on the button
    scope: list[str] = field(default_factory=lambda: ["openid", "profile"])
    username_claim: str = "preferred_username"
    # A claim with texts; dots lead into claims, as in realm_access.roles.
    groups_claim: str = "groups"
    # Roles or groups of the console, by the provider's group; others give no right.
    groups: dict[str, str] = field(default_factory=dict)
    # Whether the provider checks a second factor, so that the console asks for none.
    second_factor: bool = False
    only: bool = False  # whether nobody signs in with a password of the console


def provider() -> Provider | None:
    """The provider, if there is one."""
    found: dict[str, Any] = getattr(settings, "BACKOUT_OIDC", {})
    return Provider(**found) if found.get("issuer") else None


def is_only() -> bool:
    """Whether passwords of the console are off."""
    found = provider()
    return found is not None and found.only
