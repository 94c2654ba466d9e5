"""Passwords of connection factories, as the database keeps them: encrypted.

``BACKOUT_SECRET_KEYS`` holds the keys. The first encrypts, all decrypt; so a key is
changed by putting a new one before it, and is taken out once everything was saved anew.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from broker.errors.bridges import SecretsLost
from broker.models import ConnectionFactory


def encrypt(password: str) -> str:
    """A password as it is stored; nothing stays nothing."""
    return box().encrypt(password.encode()).decode() if password else ""


def decrypt(secret: str, *, factory: str) -> str:
    """
    Raises:
        SecretsLost: it was encrypted with a key that is gone.
    """
    if not secret:
        return ""
    try:
        return box().decrypt(secret.encode()).decode()
    except InvalidToken:
        raise SecretsLost([factory]) from None


def check_all() -> None:
    """See that each stored password can be read.

    Raises:
        SecretsLost: some cannot; it names their connection factories.
    """
    lost = []
    factories = ConnectionFactory.objects.exclude(secret="")
    for factory in factories.select_related("bridge"):
        try:
            decrypt(factory.secret, factory=str(factory))
        except SecretsLost:
            lost.append(str(factory))
    if lost:
        raise SecretsLost(lost)


def box() -> MultiFernet:
    return opened(tuple(settings.BACKOUT_SECRET_KEYS))


@lru_cache(maxsize=4)
def opened(keys: tuple[str, ...]) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except (ValueError, IndexError):
        raise ImproperlyConfigured(
            "BACKOUT_SECRET_KEYS must be keys of Fernet, separated by commas. Make one"
            " with: python -c 'from cryptography.fernet import Fernet;"
            " print(Fernet.generate_key().decode())'"
        ) from None
