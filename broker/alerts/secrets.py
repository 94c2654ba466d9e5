"""Encrypted secrets of targets, with the keys of the passwords for other brokers."""

from __future__ import annotations

from broker.bridges import secrets
from broker.errors.alerts import NotDelivered
from broker.errors.bridges import SecretsLost
from broker.models import AlertTarget


def secret_of(target: AlertTarget) -> str:
    """The secret of a target.

    Raises:
        NotDelivered: it was encrypted with a key that is not known any more, or is
            missing.
    """
    try:
        found = secrets.decrypt(target.secret, factory=target.name)
    except SecretsLost:
        why = f"The secret of {target.name} cannot be decrypted. Enter it again."
        raise NotDelivered(why) from None
    if not found:
        raise NotDelivered(f"{target.name} has no secret. Enter it under Settings.")
    return found
