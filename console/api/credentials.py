"""Credentials of applications: list, create, revoke."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django.core.exceptions import NON_FIELD_ERRORS
from django.core.exceptions import ValidationError as Refusal
from django.http import Http404, HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja import Path, Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import AwareDatetime, Field

from broker.models import Credential
from broker.security import credentials as verbs
from broker.security.users import User, named
from console.accounts.credential_form import ADD, PEOPLE, REVOKE, VIEW, CredentialForm
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody
from console.layout import pagination

router = Router(tags=["credentials"])


class CredentialState(Schema):
    """A credential without its secret, which cannot be read again."""

    id: int
    name: str
    user: str
    patterns: list[str]
    may_get: bool
    may_browse: bool
    may_put: bool
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None


class Credentials(Schema):
    """A page of credentials; the next page begins after ``next``."""

    credentials: list[CredentialState]
    next: str | None


class CredentialQuery(Schema):
    """Which credentials, by name, and the size of the page."""

    after: str = Field(default="", max_length=100, pattern=NO_NUL)
    limit: int = Field(default=50, ge=1, le=500)


class NewCredential(RequestBody):
    """The properties of a new credential."""

    name: str = Field(max_length=100)
    user: str = Field(max_length=150, pattern=NO_NUL)  # the name of a user
    # patterns of the queues and addresses that the credential may use
    patterns: list[str] = ["#"]
    may_get: bool = True
    may_browse: bool = True
    may_put: bool = True
    expires_at: AwareDatetime | None = None


class CreatedCredential(CredentialState):
    """A new credential with its secret, which is returned only once."""

    secret: str


class Revocation(RequestBody):
    """The reason, for the audit."""

    reason: str = Field(default="", max_length=200)


@router.get(
    "/credentials",
    response={200: Credentials, **REFUSED},
    summary="The credentials of applications",
)
def list_credentials(
    request: HttpRequest, page: Query[CredentialQuery]
) -> dict[str, Any]:
    """All credentials by name, including revoked and expired ones."""
    require(request, VIEW)
    rows = Credential.objects.select_related(*PEOPLE).order_by("name")
    found = list(rows.filter(name__gt=page.after)[: page.limit + 1])
    part = found[: page.limit]
    return {
        "credentials": [credential_document(one) for one in part],
        "next": part[-1].name if len(found) > page.limit else None,
    }


@router.post(
    "/credentials",
    response={200: CreatedCredential, **REFUSED},
    summary="Create a credential",
)
def create_credential(request: HttpRequest, body: NewCredential) -> dict[str, Any]:
    """Returns the secret, which is not stored and cannot be read again. The
    credential's rights are limited to its user's.
    """
    require(request, ADD)
    user = named(body.user).filter(is_active=True).first()
    said = body.dict() | {
        "user": None if user is None else user.pk,
        "patterns": "\n".join(body.patterns),
    }
    return made(request, CredentialForm(said, by=cast("User", request.user)))


@sensitive_variables("secret")
def made(request: HttpRequest, form: CredentialForm) -> dict[str, Any]:
    """The response for a new credential.

    Raises:
        ValidationError: no credential was created.
    """
    assert request.user.pk, "only those who have signed in get here"
    if form.is_valid():
        try:
            credential, secret = verbs.create(**form.cleaned_data, by=request.user)
        except Refusal as error:  # another request has created the credential
            form.add_error(None, error)
        else:
            return credential_document(credential) | {"secret": secret}
    raise ValidationError(
        [
            {"loc": ["body", "body", *where(name)], "msg": str(words)}
            for name, errors in form.errors.items()
            for words in errors
        ]
    )


def where(name: str) -> list[str]:
    return [] if name == NON_FIELD_ERRORS else [name]


@router.post(
    "/credentials/{int:credential_id}/revoke",
    response={200: CredentialState, **REFUSED},
    summary="Revoke a credential",
)
def revoke_credential(
    request: HttpRequest, credential_id: Path[int], body: Revocation
) -> dict[str, Any]:
    """Revokes the credential permanently. Logins fail at once; listeners close its
    connections within five seconds. Revoking it again has no effect.
    """
    require(request, REVOKE)
    rows = Credential.objects.select_related(*PEOPLE)
    known = rows.filter(pk=min(credential_id, pagination.LARGEST))
    credential = known.first()
    if credential is None:
        raise Http404(f"credential {credential_id}")
    assert request.user.pk, "only those who have signed in get here"
    verbs.revoke(credential, request.user, reason=body.reason)
    return credential_document(known.get())


def credential_document(one: Credential) -> dict[str, Any]:
    plain = (
        *("id", "name", "may_get", "may_browse", "may_put"),
        *("created_at", "expires_at", "revoked_at", "last_used_at"),
    )
    return {
        **{name: getattr(one, name) for name in plain},
        "user": one.user.get_username(),
        "patterns": one.patterns.split(),
        "created_by": one.created_by.get_username() if one.created_by else None,
        "revoked_by": one.revoked_by.get_username() if one.revoked_by else None,
    }
