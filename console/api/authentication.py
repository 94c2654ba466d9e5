"""Who asks: a person by their session's cookie, or a machine by its credential.

A credential is sent as ``Authorization: Bearer`` with its secret, or ``Basic`` with its
name and secret. It is good for what it is good for over AMQP: the authorities of its
user, narrowed. No token against forged requests is asked for, as no browser sends it
unasked.
"""

from __future__ import annotations

import base64
import binascii

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja.errors import AuthenticationError
from ninja.security import SessionAuth
from ninja.security.base import AuthBase

from broker.models import Credential
from broker.security import authorities, credentials

KNOWN = "_backout_credential"  # attribute of a request that was asked already


class BearerAuth(AuthBase):
    """By the secret of a credential; or by its name and secret."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Credential | None:
        """The credential that it came by; without the header it may have a session.

        Raises:
            AuthenticationError: what the header says is not known.
        """
        if "Authorization" not in request.headers:
            return None
        known: Credential | None = getattr(request, KNOWN, None)
        if known is None:
            known = credential_in(request.headers["Authorization"])
            if known is None:
                raise AuthenticationError
            credentials.used(known)
            request.user = authorities.through(known)  # type: ignore[assignment]
            setattr(request, KNOWN, known)
        return known


WAYS = (BearerAuth(), SessionAuth())


def is_known(request: HttpRequest) -> bool:
    """Whether somebody is known to ask; ``request.user`` is then who."""
    try:
        return WAYS[0](request) is not None or request.user.is_authenticated
    except AuthenticationError:
        return False


def asker(request: HttpRequest) -> str:
    """Who is known to ask, in a word that nobody else has."""
    credential = authorities.credential_of(request.user)
    if credential is not None:
        return f"credential {credential.pk}"
    return f"user {request.user.pk}"


@sensitive_variables()
def credential_in(header: str) -> Credential | None:
    """The good credential that a header names."""
    scheme, _, value = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return credentials.bearer(value.strip())
        case "basic":
            try:
                text = base64.b64decode(value, validate=True).decode()
            except (binascii.Error, ValueError):
                return None
            name, _, secret = text.partition(":")
            return credentials.verify(name, secret)
    return None
