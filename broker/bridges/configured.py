"""Convert rows of bridges to the values that providers take."""

from __future__ import annotations

from broker.bridges import secrets
from broker.bridges.providers.interface import Destination, Factory
from broker.bridges.providers.registry import HERE
from broker.models import BridgeDestination, ConnectionFactory, Link

ENDS = ("bridge", "source", "source_factory", "target", "target_factory")
# For ``prefetch_related``: a query for each of these relations of a link. Usually no
# link has failed, so none of them runs; to plan a join of all tables would take
# milliseconds.
WITH_ENDS = tuple(f"link__{one}" for one in ENDS)


def factory_of(row: ConnectionFactory, *, client_id: str = "") -> Factory:
    """A connection factory with its password in clear.

    Raises:
        SecretsLost: the password cannot be decrypted.
    """
    return Factory(
        name=row.name,
        provider=row.provider,
        url=row.url,
        username=row.username,
        password=secrets.decrypt(row.secret, factory=row.name),
        client_id=client_id,
        properties=row.properties,
    )


def destination_of(row: BridgeDestination) -> Destination:
    return Destination(row.name, row.kind == BridgeDestination.Kind.TOPIC)


def target_of(link: Link) -> Destination | None:
    """The target of a link; None means AS_SOURCE."""
    return None if link.target is None else destination_of(link.target)


def is_here(row: ConnectionFactory) -> bool:
    """Whether the factory is for this broker."""
    return row.provider == HERE


def ends_here(link: Link) -> set[str]:
    """The addresses and queues of this broker that are ends of a link."""
    ends = set()
    if is_here(link.source_factory):
        ends.add(link.source.name)
    if is_here(link.target_factory):
        ends.add((link.target or link.source).name)
    return ends
