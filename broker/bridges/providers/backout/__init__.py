"""Another Backout, by its REST API, with two-phase commit.

``calls`` makes HTTP requests, ``subscribing`` gets messages, ``session`` puts them and
ends transactions. The password of the factory is the secret of a credential there, and
the link has that credential's authorities.
"""

from __future__ import annotations

from broker.bridges.providers.backout.calls import Calls
from broker.bridges.providers.backout.session import BackoutSession
from broker.bridges.providers.interface import Factory, ProviderSession
from broker.errors.bridges import ProviderError


def connect(factory: Factory) -> ProviderSession:
    """See ``interface.Connect``."""
    session = BackoutSession(factory, Calls(factory))
    try:
        session.in_doubt("-")  # checks the connection and the login
    except ProviderError:
        session.close()
        raise
    return session
