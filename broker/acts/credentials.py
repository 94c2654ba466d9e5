"""Acts on credentials of applications: create one, revoke one for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, cast

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext_noop
from django.views.decorators.debug import sensitive_variables

from broker.acts.declaring import Holds, Reason, declared
from broker.acts.objects import find_credential
from broker.errors.acts import InvalidRequest
from broker.models import Act, Credential
from broker.security import credentials
from broker.security.authorities import Principal
from broker.security.granting import may_manage
from broker.security.users import User, named
from broker.sql import database_now

VIEW = "broker.view_credential"
TAKEN = "There is a credential of this name, maybe a revoked one. Choose another."
STRONGER = (
    "This user has permissions that you lack. Ask a superuser to create the credential."
)
TYPED = {"name", "patterns"}  # fields that the model itself checks
OTHERS = {field.name for field in Credential._meta.fields} - TYPED
# Names of the request's fields, by field of the model.
FIELDS: Mapping[str, str] = {"user": "owner", NON_FIELD_ERRORS: ""}


@dataclass(frozen=True, slots=True)
class CredentialState:
    """A credential without its secret, which cannot be read again."""

    id: int
    name: str
    owner: str
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


@dataclass(frozen=True, slots=True)
class RevokedCredential(CredentialState):
    """A credential, and whether it was revoked now."""

    changed: bool

    def __str__(self) -> str:
        return f"{self.name} is revoked." if self.changed else "It was revoked before."


@dataclass(frozen=True, slots=True)
class NewCredential(CredentialState):
    """A new credential with its secret, which is told only once."""

    secret: str = field(repr=False)

    def __str__(self) -> str:
        return self.secret


@dataclass(frozen=True, slots=True)
class CreateCredential:
    """The name, the user, and what the credential may do."""

    name: Annotated[
        str,
        Holds(gettext_noop("The name with which the application logs in."), most=100),
    ]
    owner: Annotated[
        str,
        Holds(
            gettext_noop("The user whose authorities it has. It never has more."),
            most=150,
        ),
    ]
    patterns: Annotated[
        tuple[str, ...],
        Holds(
            gettext_noop("The queues and addresses that it may use."),
            least=1,
            most=1000,
        ),
    ] = ("#",)
    may_get: Annotated[bool, Holds(gettext_noop("Whether it may get messages."))] = True
    may_browse: Annotated[
        bool, Holds(gettext_noop("Whether it may browse messages."))
    ] = True
    may_put: Annotated[bool, Holds(gettext_noop("Whether it may put messages."))] = True
    expires_at: Annotated[
        datetime | None, Holds(gettext_noop("When it expires; it is valid until then."))
    ] = None


@declared(
    permission="broker.add_credential",
    recorded_as=Act.CREATE_CREDENTIAL,
    needs_person=True,
)
@sensitive_variables("secret")
def create_credential(actor: Principal, request: CreateCredential) -> NewCredential:
    """Create a credential.

    The answer has its secret, which is not stored and cannot be read again. Its rights
    are limited to those of its user.
    """
    by = cast("User", actor)  # ``needs_person`` is set, so the actor is a user
    owner = named(request.owner).filter(is_active=True).first()
    if owner is None:
        raise InvalidRequest((("owner", "There is no active user of this name."),))
    if faults := list(find_faults(request, owner, by)):
        raise InvalidRequest(tuple(faults))
    try:
        made, secret = credentials.create(
            request.name,
            owner,
            patterns="\n".join(request.patterns),
            may_get=request.may_get,
            may_browse=request.may_browse,
            may_put=request.may_put,
            expires_at=request.expires_at,
            by=by,
        )
    except ValidationError as error:  # another request has created it
        raise InvalidRequest(tuple(faults_in(error))) from None
    return NewCredential(**facts_of(made), secret=secret)


def find_faults(
    request: CreateCredential, owner: User, by: User
) -> Iterator[tuple[str, str]]:
    """What is wrong beyond the limits of fields, with the names of these."""
    typed = Credential(name=request.name, patterns="\n".join(request.patterns))
    try:
        typed.clean_fields(exclude=OTHERS)
    except ValidationError as error:
        yield from faults_in(error)
    if not may_manage(by, owner):
        yield "owner", STRONGER
    if Credential.objects.filter(name=request.name).exists():
        yield "name", TAKEN
    if request.expires_at is not None and request.expires_at <= database_now():
        yield "expires_at", "That is in the past."
    if not (request.may_get or request.may_browse or request.may_put):
        yield "", "Choose at least one of get, browse and put."


def faults_in(error: ValidationError) -> Iterator[tuple[str, str]]:
    """What the model refuses, by the fields of the request."""
    for name, why in error.message_dict.items():
        yield FIELDS.get(name, name), " ".join(why)


@dataclass(frozen=True, slots=True)
class RevokeCredential:
    """The credential, and why."""

    credential: Annotated[
        str,
        Holds(
            gettext_noop("The name of the credential."), names="credential", most=100
        ),
    ]
    reason: Reason = ""


@declared(
    permission="broker.change_credential",
    recorded_as=Act.REVOKE_CREDENTIAL,
    is_confirmed=True,
)
def revoke_credential(actor: Principal, request: RevokeCredential) -> RevokedCredential:
    """Revoke a credential for good.

    Logins fail at once; listeners close its connections within five seconds. Revoking
    it again has no effect.
    """
    one = find_credential(request.credential)
    changed = credentials.revoke(one, cast("User | None", actor), reason=request.reason)
    return RevokedCredential(**facts_of(find_credential(one.name)), changed=changed)


def credentials_after(name: str) -> QuerySet[Credential]:
    """Credentials by name, with their users, also those that are revoked."""
    rows = Credential.objects.select_related("user", "created_by", "revoked_by")
    return rows.filter(name__gt=name).order_by("name")


def describe_credential(one: Credential) -> CredentialState:
    """A credential for answers; its users must have been read with it."""
    return CredentialState(**facts_of(one))


def facts_of(one: Credential) -> dict[str, Any]:
    plain = (
        *("id", "name", "may_get", "may_browse", "may_put"),
        *("created_at", "expires_at", "revoked_at", "last_used_at"),
    )
    return {
        **{name: getattr(one, name) for name in plain},
        "owner": one.user.get_username(),
        "patterns": one.patterns.split(),
        "created_by": one.created_by.get_username() if one.created_by else None,
        "revoked_by": one.revoked_by.get_username() if one.revoked_by else None,
    }
