"""Credentials of applications: list, create, revoke."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from broker.acts.credentials import (
    VIEW,
    CredentialState,
    create_credential,
    credentials_after,
    describe_credential,
    revoke_credential,
)
from console.edges.rest.acts import serve
from console.edges.rest.problems import NO_NUL, REFUSED, require

router = Router(tags=["credentials"])


class Credentials(Schema):
    """A page of credentials; the next page begins after ``next``."""

    credentials: list[CredentialState]
    next: str | None


class CredentialQuery(Schema):
    """Which credentials, by name, and the size of the page."""

    after: str = Field(default="", max_length=100, pattern=NO_NUL)
    limit: int = Field(default=50, ge=1, le=500)


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
    found = list(credentials_after(page.after)[: page.limit + 1])
    part = found[: page.limit]
    return {
        "credentials": [describe_credential(one) for one in part],
        "next": part[-1].name if len(found) > page.limit else None,
    }


serve(router, "POST", "/credentials", create_credential)
serve(router, "POST", "/credentials/{queue:credential}/revoke", revoke_credential)
