"""Authentication of a request: a user's session cookie or a credential.

A credential is sent as ``Authorization: Bearer`` with its secret, or ``Basic`` with its
name and secret. It has the same rights as over AMQP: its user's authorities, narrowed
by the credential. No CSRF token is needed, because browsers do not send it by
themselves.
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

KNOWN = "_backout_credential"  # attribute of a request that was authenticated already


class BearerAuth(AuthBase):
    """Authenticate by a credential's secret, or by its name and secret."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Credential | None:
        """Authenticate by the header's credential; without the header, by the session.

        Raises:
            AuthenticationError: the credential is not valid.
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
    """Whether the request is authenticated; ``request.user`` is then set."""
    try:
        return WAYS[0](request) is not None or request.user.is_authenticated
    except AuthenticationError:
        return False


def asker(request: HttpRequest) -> str:
    """A unique identifier of the authenticated user or credential."""
    return authorities.id_of(request.user)


@sensitive_variables()
def credential_in(header: str) -> Credential | None:
    """The valid credential that a header names."""
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
