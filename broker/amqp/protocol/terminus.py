"""Source, target and coordinator of an AMQP link, and lifetimes of dynamic nodes.

Source: AMQP 1.0, part 3, section 3.5, and part 4, section 4.5.1.
"""

from __future__ import annotations

from typing import Any

from broker.amqp.protocol.states import Outcome
from broker.amqp.protocol.types.composites import composite, nested
from broker.amqp.protocol.types.field_types import KINDS


@composite(
    0x28,
    "source",
    "string uint symbol uint boolean nodes symbol fields outcome symbols symbols",
)
class Source:
    """The source of messages.

    ``durable``: 0 nothing is kept, 1 its settings, 2 also its unsettled deliveries.
    ``timeout``: seconds that it outlives its link. ``filter``: filters by name, each
    usually a ``Described``.
    """

    address: str | None = None
    durable: int = 0
    expiry_policy: str = "session-end"
    timeout: int = 0
    dynamic: bool = False
    dynamic_node_properties: dict[Any, Any] | None = None
    distribution_mode: str | None = None
    filter: dict[Any, Any] | None = None
    default_outcome: Outcome | None = None
    outcomes: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


@composite(0x29, "target", "string uint symbol uint boolean nodes symbols")
class Target:
    """The target of messages; fields as those of ``Source``."""

    address: str | None = None
    durable: int = 0
    expiry_policy: str = "session-end"
    timeout: int = 0
    dynamic: bool = False
    dynamic_node_properties: dict[Any, Any] | None = None
    capabilities: tuple[str, ...] = ()


@composite(0x30, "coordinator", "symbols")
class Coordinator:
    """The target of an AMQP link that declares and discharges transactions."""

    capabilities: tuple[str, ...] = ()


KINDS["terminus"] = nested(Target, Coordinator)


@composite(0x2B, "delete-on-close")
class DeleteOnClose:
    """The lifetime of a dynamic node: that of the AMQP link that made it."""


@composite(0x2C, "delete-on-no-links")
class DeleteOnNoLinks:
    pass


@composite(0x2D, "delete-on-no-messages")
class DeleteOnNoMessages:
    pass


@composite(0x2E, "delete-on-no-links-or-messages")
class DeleteOnNoLinksOrMessages:
    pass
