"""Connection factories as they are stored, made into what a provider connects with."""

from __future__ import annotations

from broker.bridges import secrets
from broker.bridges.providers import registry
from broker.bridges.providers.interface import Factory
from broker.bridges.providers.registry import HERE
from broker.bridges.validation import faults_of
from broker.errors.bridges import WrongFactory
from broker.models import ConnectionFactory


def described(factory: ConnectionFactory, *, client_id: str = "") -> Factory:
    """What a provider needs to know, the password in clear.

    Raises:
        SecretsLost: its password cannot be decrypted.
    """
    return Factory(
        name=str(factory),
        provider=factory.provider,
        url=factory.url,
        username=factory.username,
        password=secrets.decrypt(factory.secret, factory=str(factory)),
        client_id=client_id,
        properties=factory.properties,
    )


def try_out(factory: ConnectionFactory) -> str:
    """Connect, log in, and leave again; say that it went well.

    Raises:
        ProviderError: it did not; why, and what to do.
        SecretsLost: its password cannot be decrypted.
    """
    if factory.provider == HERE:
        return f"{factory}: this broker is here. There is nothing to connect to."
    for one in faults_of(factory):
        raise WrongFactory(str(factory), one.sentence)
    registry.connect(described(factory)).close()
    return f"{factory}: connected, and logged in where that was asked for."
