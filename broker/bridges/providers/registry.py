"""Registry of providers, with their capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast
from urllib.parse import urlsplit

from django.utils.translation import gettext_noop

from broker.bridges.providers.interface import (
    NOTHING,
    Capability,
    Connect,
    Factory,
    ProviderSession,
)
from broker.errors.bridges import WrongFactory
from broker.models.bridge_names import THIS_BROKER

HERE = THIS_BROKER
# Schemes of URLs without a host.
WITHOUT_HOST = frozenset({"filesystem", "memory", "sqs"})


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of provider."""

    key: str
    label: str  # name shown to people
    module: str  # module in broker.bridges.providers; it has a function ``connect``
    schemes: Sequence[str]  # schemes of its URLs; empty: it needs no URL
    example: str  # an example of a URL
    capabilities: Capability
    guarantee: str = "at least once"  # guarantee of transfers without transactions

    def connect(self, factory: Factory) -> ProviderSession:
        """A session; see ``interface.Connect``.

        Raises:
            WrongFactory: also if a package is missing that this provider needs.
        """
        self.check_url(factory)
        try:
            module = import_module(f"broker.bridges.providers.{self.module}")
        except ModuleNotFoundError as error:
            raise WrongFactory(
                factory.name,
                f"{self.label} needs the package {error.name}. Install it:"
                " pip install 'backout[amqp]'.",
            ) from error
        return cast(Connect, module.connect)(factory)

    def check_url(self, factory: Factory) -> None:
        """Check a factory's URL.

        Raises:
            WrongFactory: the URL is not valid for this provider.
        """
        if not self.schemes:
            return
        try:
            parts = urlsplit(factory.url)
            is_right = parts.scheme in self.schemes and (
                bool(parts.hostname) or parts.scheme in WITHOUT_HOST
            )
            _ = parts.port
        except ValueError:
            is_right = False
        if not is_right:
            raise WrongFactory(
                factory.name,
                f"{factory.url!r} is not a URL for {self.label}. Write it like this:"
                f" {self.example}",
            )


REMOTE = Capability.SELECTORS | Capability.TOPICS | Capability.DURABLE
PROVIDERS = {
    one.key: one
    for one in (
        Provider(
            HERE,
            gettext_noop("this broker"),
            "local",
            (),
            "",
            Capability.LOCAL
            | Capability.TRANSACTIONS
            | Capability.TWO_PHASE
            | REMOTE
            | Capability.LAG,
        ),
        Provider(
            "backout",
            gettext_noop("another Backout"),
            "backout",
            ("http", "https"),
            "https://host/",
            Capability.TRANSACTIONS
            | Capability.TWO_PHASE
            | Capability.SELECTORS
            | Capability.LAG,
        ),
        Provider(
            "amqp",
            "AMQP 1.0 (ActiveMQ, Artemis, Azure Service Bus, RabbitMQ)",
            "amqp",
            ("amqp", "amqps"),
            "amqp://host:5672",
            Capability.TRANSACTIONS | REMOTE,
        ),
        Provider(
            "stomp",
            "STOMP (ActiveMQ, Artemis, RabbitMQ)",
            "stomp",
            ("stomp", "stomps"),
            "stomp://host:61613",
            Capability.TRANSACTIONS | REMOTE,
        ),
        Provider(
            "rabbitmq",
            "RabbitMQ (AMQP 0-9-1)",
            "rabbitmq",
            ("amqp", "amqps"),
            "amqp://host:5672/vhost",
            Capability.TOPICS | Capability.DURABLE | Capability.LAG,
        ),
        Provider(
            "kombu",
            gettext_noop("whatever else kombu reaches (Redis, SQS, …)"),
            "kombu",
            ("redis", "rediss", "sqs", "filesystem", "memory", "amqp", "amqps"),
            "redis://host:6379/0",
            NOTHING,
            "at least once, best effort",
        ),
    )
}


def provider(key: str, *, factory: str = "") -> Provider:
    """The kind of provider with this name.

    Raises:
        WrongFactory: there is no such kind of provider.
    """
    found = PROVIDERS.get(key)
    if found is None:
        known = ", ".join(PROVIDERS)
        raise WrongFactory(
            factory, f"There is no provider {key!r}. These exist: {known}."
        )
    return found


def connect(factory: Factory) -> ProviderSession:
    """A session with the provider of a factory; see ``interface.Connect``."""
    return provider(factory.provider, factory=factory.name).connect(factory)
