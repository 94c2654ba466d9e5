"""Connection test of a connection factory."""

from __future__ import annotations

from broker.bridges.config.validation import faults_of
from broker.bridges.configured import factory_of
from broker.bridges.providers import registry
from broker.bridges.providers.registry import HERE
from broker.errors.bridges import WrongFactory
from broker.models import ConnectionFactory


def try_out(factory: ConnectionFactory) -> str:
    """Connect, log in, and disconnect; return a sentence about the success.

    Raises:
        ProviderError: it failed; with the reason, and what to do.
        SecretsLost: its password cannot be decrypted.
    """
    if factory.provider == HERE:
        return (
            f"{factory}: this broker is this process itself. No connection is needed."
        )
    for one in faults_of(factory):
        raise WrongFactory(str(factory), one.sentence)
    registry.connect(factory_of(factory)).close()
    return f"{factory}: connected, and logged in if it has a username."
