"""Encryption of stored passwords of connection factories, and secrets of alert targets.

``BACKOUT_SECRET_KEYS`` holds the keys. The first one encrypts; all decrypt. To change
the key, put a new one first, encrypt all passwords again (``rekey``), and remove the
old one.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import QuerySet

from broker.errors.bridges import SecretsLost
from broker.models import Act, AlertTarget, ConnectionFactory
from broker.security import audit
from broker.security.audit import Thing


def encrypt(password: str) -> str:
    """Encrypt a password; an empty password stays empty."""
    return box().encrypt(password.encode()).decode() if password else ""


def decrypt(secret: str, *, factory: str) -> str:
    """Decrypt a password.

    Raises:
        SecretsLost: the password was encrypted with an unknown key.
    """
    if not secret:
        return ""
    try:
        return box().decrypt(secret.encode()).decode()
    except InvalidToken:
        raise SecretsLost([factory]) from None


def check_all() -> None:
    """Check that each stored password of a connection factory can be decrypted.

    Raises:
        SecretsLost: some passwords cannot; the error names their connection factories.
    """
    if found := [str(one) for one in lost()]:
        raise SecretsLost(found)


def lost() -> list[ConnectionFactory]:
    """The connection factories whose passwords cannot be decrypted. One query."""
    found = []
    for factory in with_passwords():
        try:
            decrypt(factory.secret, factory=str(factory))
        except SecretsLost:
            found.append(factory)
    return found


def with_passwords() -> QuerySet[ConnectionFactory]:
    return ConnectionFactory.objects.exclude(secret="").select_related("bridge")


@transaction.atomic
def rekey() -> int:
    """Encrypt all passwords again with the first key; then the others can be removed.

    Returns:
        The number of passwords.

    Raises:
        SecretsLost: some cannot be decrypted; nothing was changed.
    """
    check_all()
    targets = AlertTarget.objects.exclude(secret="")
    holders: list[ConnectionFactory | AlertTarget] = [
        *with_passwords().select_for_update(of=("self",)),
        *targets.select_for_update(),
    ]
    for one in holders:
        decrypt(one.secret, factory=str(one))
        one.secret = box().rotate(one.secret.encode()).decode()
        one.save(update_fields=["secret"])
    if holders:
        detail = {"encrypted": len(holders)}
        audit.record(Act.CHANGE, Thing("connection factory passwords"), detail=detail)
    return len(holders)


def box() -> MultiFernet:
    return opened(tuple(settings.BACKOUT_SECRET_KEYS))


@lru_cache(maxsize=4)
def opened(keys: tuple[str, ...]) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except (ValueError, IndexError):
        raise ImproperlyConfigured(
            "BACKOUT_SECRET_KEYS must be Fernet keys, separated by commas. Make one"
            " with: python -c 'from cryptography.fernet import Fernet;"
            " print(Fernet.generate_key().decode())'"
        ) from None
