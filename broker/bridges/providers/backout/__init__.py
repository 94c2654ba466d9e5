"""Another Backout, over its REST API: branches that are prepared, then committed.

``calls`` speaks HTTP, ``subscribing`` gets messages, ``session`` puts them and ends
transactions. The password of the factory is the secret of a credential there; what that
may do is all that a link may do.
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
        session.in_doubt("-")  # is anybody there, and who are we to them?
    except ProviderError:
        session.close()
        raise
    return session
