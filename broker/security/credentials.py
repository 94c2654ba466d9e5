"""Credentials of applications: names and secrets, with limited authorities of a user.

A secret is shown once. Only a digest is stored, which is enough for a secret of 256
random bits, and the keys for SCRAM.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from broker import sql
from broker.models import Act, Credential
from broker.models.clients import NAME
from broker.security import audit

logger = logging.getLogger(__name__)

# With this prefix a secret is longer than a block of SHA-256: HMAC uses its digest
# instead.
PREFIX = "bo_"  # prefix by which leaked secrets are recognized
ITERATIONS = 4096  # the minimum of RFC 7677; enough, as the secret is random
SALT_BYTES = 16
NOTED_EVERY = timedelta(minutes=1)
# Fields of a credential that every request needs, in the order of the model. Other
# fields are deferred.
CREDENTIAL = (
    *("id", "name", "user_id", "patterns", "may_get", "may_browse", "may_put"),
    *("expires_at", "last_used_at"),
)
BOUNDS = ("may_get", "may_browse", "may_put", "expires_at")


class Scram(NamedTuple):
    """The keys of a secret that a server needs for SCRAM-SHA-256.

    Source:
        RFC 5802, section 3; RFC 7677.
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


@transaction.atomic
def create(  # noqa: PLR0913  # each is named where it is used
    name: str,
    user: User,
    *,
    patterns: str = "#",
    may_get: bool = True,
    may_browse: bool = True,
    may_put: bool = True,
    expires_at: datetime | None = None,
    by: User | None = None,
) -> tuple[Credential, str]:
    """Create a credential; return it and its secret, which is not stored.

    Args:
        name: the name that the application logs in with.
        user: the credential has at most this user's authorities.
        patterns: patterns of its queues and addresses, one in each line.
        may_get: whether it may get messages.
        may_browse: whether it may browse.
        may_put: whether it may put.
        expires_at: the time at which it becomes invalid; None: never.
        by: the user who creates it.

    Raises:
        ValidationError: the name is taken or invalid, or a line is not a pattern.
    """
    secret = PREFIX + secrets.token_hex(32)
    keys = scram(secret, secrets.token_bytes(SALT_BYTES))
    credential = Credential(
        name=name,
        user=user,
        patterns=patterns,
        may_get=may_get,
        may_browse=may_browse,
        may_put=may_put,
        expires_at=expires_at,
        created_by=by,
        secret_sha256=digest(secret),
        scram_salt=keys.salt,
        scram_iterations=keys.iterations,
        scram_stored_key=keys.stored_key,
        scram_server_key=keys.server_key,
    )
    credential.full_clean()
    credential.save()
    after = {"user": user.get_username(), "patterns": patterns}
    after |= {name: str(getattr(credential, name)) for name in BOUNDS}
    detail = {"changed": audit.changes({}, after)}
    audit.record(Act.CREATE_CREDENTIAL, credential, by=by, detail=detail)
    return credential, secret


@transaction.atomic
def revoke(credential: Credential, by: User | None, *, reason: str = "") -> bool:
    """Revoke a credential; return False if it was revoked before.

    A client that is logged in with the credential is ended at the next check of its
    authorities.
    """
    unrevoked = Credential.objects.filter(pk=credential.pk, revoked_at=None)
    is_first = bool(unrevoked.update(revoked_at=Now(), revoked_by=by))
    if is_first:
        audit.record(Act.REVOKE_CREDENTIAL, credential, by=by, reason=reason)
        logger.info("Credential %s was revoked by %s.", credential.name, by)
    return is_first


def verify(name: str, secret: str, *, now: datetime | None = None) -> Credential | None:
    """The valid credential with this name and secret, with its user; else None.

    The time it takes does not reveal whether the name exists. It changes nothing; see
    ``used``.

    Args:
        name: the name that was received; it may be any text.
        secret: the secret that was received; it may be any text.
        now: the current time; the database's clock when not given.
    """
    credential = find(name, now)
    kept = digest("") if credential is None else bytes(credential.secret_sha256)
    is_right = hmac.compare_digest(kept, digest(secret))
    return credential if is_right else None


def bearer(secret: str, *, now: datetime | None = None) -> Credential | None:
    """The valid credential with this secret, with its user; else None.

    Args:
        secret: the secret that was received; it may be any text.
        now: the current time; the database's clock when not given.
    """
    for values in sql.run("bearer", {"digest": digest(secret), "now": now}):
        here = len(CREDENTIAL)
        credential = Credential.from_db(DEFAULT_DB_ALIAS, CREDENTIAL, values[:here])
        credential.user = user_of(values[here:])
        return credential
    return None


def user_of(values: tuple[Any, ...]) -> User:
    """The user of a row of ``bearer``; other fields are deferred."""
    users = get_user_model()
    key, login = users._meta.pk.attname, users.USERNAME_FIELD
    found = dict(zip((key, "is_superuser", login, "is_active"), values, strict=True))
    # ``from_db`` expects the values in the order of the model's fields.
    names = [one.attname for one in users._meta.concrete_fields if one.attname in found]
    return users.from_db(DEFAULT_DB_ALIAS, names, [found[one] for one in names])


def scram_of(name: str, *, now: datetime | None = None) -> Scram | None:
    """The SCRAM-SHA-256 keys of the valid credential of this name; None if there is
    none."""
    credential = find(name, now)
    if credential is None:
        return None
    return Scram(
        bytes(credential.scram_salt),
        credential.scram_iterations,
        bytes(credential.scram_stored_key),
        bytes(credential.scram_server_key),
    )


def used(credential: Credential, *, now: datetime | None = None) -> None:
    """Record a login with a credential, at most one login in a minute."""
    last = credential.last_used_at
    if last is not None and last > (now or datetime.now(UTC)) - NOTED_EVERY:
        return
    at: Any = now or Now()
    stale = Q(last_used_at=None) | Q(last_used_at__lte=at - NOTED_EVERY)
    Credential.objects.filter(stale, pk=credential.pk).update(last_used_at=at)


def good(now: datetime | None = None) -> QuerySet[Credential]:
    """Valid credentials: those of active users that are neither revoked nor expired."""
    at: Any = now or Now()
    return Credential.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=at),
        revoked_at=None,
        user__is_active=True,
    )


def find(name: str, now: datetime | None) -> Credential | None:
    """The valid credential of this name. One query, also for a name that cannot
    exist."""
    is_name = len(name) <= LONGEST and re.match(NAME.regex, name)
    return good(now).select_related("user").filter(name=name if is_name else "").first()


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def scram(secret: str, salt: bytes) -> Scram:
    """Derive the keys of a secret. Secrets are ASCII, so SASLprep is not needed."""
    salted = hashlib.pbkdf2_hmac("sha256", secret.encode(), salt, ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return Scram(salt, ITERATIONS, hashlib.sha256(client_key).digest(), server_key)


LONGEST = Credential._meta.get_field("name").max_length or 0
