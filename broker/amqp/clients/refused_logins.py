"""The reason for a refused login, for the log only: the client is told none."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from broker.models.clients import Credential
from broker.sql import database_now

NO_NAME = "there is no credential or user of this name"
REVOKED = "the credential is revoked"
EXPIRED = "the credential has expired"
INACTIVE = "the user is not active"
CREDENTIAL_REFUSED = "the secret of the credential is wrong"
USER_REFUSED = (
    "the password of the user is wrong, there were too many wrong ones, or a second"
    " factor is needed"
)
NO_ACCESS = "the credential or user is no longer valid"


def reason_of(name: str) -> str:
    """Why a name could not log in, as far as the database knows. Three queries."""
    name = name.replace("\0", "")
    credential = Credential.objects.select_related("user").filter(name=name).first()
    if credential is not None:
        if credential.revoked_at is not None:
            return REVOKED
        if credential.expires_at and credential.expires_at <= database_now():
            return EXPIRED
        return CREDENTIAL_REFUSED if credential.user.is_active else INACTIVE
    users = get_user_model()
    user = users._default_manager.filter(**{users.USERNAME_FIELD: name}).first()
    if user is None:
        return NO_NAME
    return USER_REFUSED if user.is_active else INACTIVE
