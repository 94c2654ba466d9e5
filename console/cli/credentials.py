"""``backout credential``: credentials of applications."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import typer
from django.core.management.base import CommandError
from django.views.decorators.debug import sensitive_variables
from typer import Argument, Option

from broker.models import Credential
from broker.security import credentials as verbs
from broker.security.users import named
from broker.sql import database_now
from console.accounts.credential_form import ADD, PEOPLE, REVOKE, VIEW, CredentialForm
from console.edges import people
from console.edges.options import Json, Reason, User, Yes
from console.edges.people import NOTHING, REFUSED

Name = Annotated[str, Argument(help="Its name.")]
For = Annotated[str, Option("--for", help="The user whose authorities it has.")]
Patterns = Annotated[
    list[str] | None, Option("--pattern", help="Queues it may use; repeatable.")
]
Flag = Annotated[bool, Option()]
Days = Annotated[float, Option(help="Days until it expires; 0: never.", min=0)]


def list_all(self: Any, *, user: User = None, json: Json = False) -> None:
    """List credentials, also those that are revoked or expired."""
    people.require(people.acting(user), VIEW)
    rows = list(
        map(
            credential_document,
            Credential.objects.select_related(*PEOPLE).order_by("name"),
        )
    )
    self.tell_rows("credentials", rows, as_json=json, empty="There is no credential.")


@sensitive_variables("secret")
def create(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    name: Name,
    *,
    for_: For,
    pattern: Patterns = None,
    get: Flag = True,
    browse: Flag = True,
    put: Flag = True,
    days: Days = 0,
    user: User = None,
    json: Json = False,
) -> None:
    """Create one, and print its secret, which cannot be read again."""
    person = people.somebody(user)
    people.require(person, ADD)
    owner = named(for_).filter(is_active=True).first()
    said = {
        "name": name,
        "user": owner and owner.pk,
        "patterns": "\n".join(pattern or ["#"]),
        "expires_at": database_now() + timedelta(days=days) if days else None,
        "may_get": get,
        "may_browse": browse,
        "may_put": put,
    }
    form = CredentialForm(said, by=person)
    if not form.is_valid():
        faults = [
            f"{name}: {one}" for name, every in form.errors.items() for one in every
        ]
        raise CommandError(" ".join(faults), returncode=REFUSED)
    credential, secret = verbs.create(**form.cleaned_data, by=person)
    self.tell(
        credential_document(credential) | {"secret": secret}, secret, as_json=json
    )


def revoke(  # the subcommand's options
    self: Any,
    name: Name,
    *,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Revoke one for good."""
    person = people.acting(user)
    people.require(person, REVOKE)
    known = Credential.objects.select_related(*PEOPLE).filter(name=name)
    found = known.first()
    if found is None:
        raise CommandError(f"There is no credential {name!r}.", returncode=REFUSED)
    is_new = yes and verbs.revoke(found, person, reason=reason)
    said = f"{name} is revoked." if yes else f"{name} would be revoked; --yes does it."
    self.tell(credential_document(known.get()) | {"done": yes}, said, as_json=json)
    if yes and not is_new:
        raise typer.Exit(NOTHING)


def credential_document(one: Credential) -> dict[str, Any]:
    rights = [word for word in ("get", "browse", "put") if getattr(one, f"may_{word}")]
    return {
        "id": one.pk,
        "name": one.name,
        "user": one.user.get_username(),
        "patterns": one.patterns.split(),
        "may": rights,
        "expires_at": one.expires_at,
        "revoked_at": one.revoked_at,
        "last_used_at": one.last_used_at,
    }
