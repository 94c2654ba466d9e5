"""The performatives of connections, sessions and links.

Names, order and defaults of the fields are those of the standard. ``role`` is False in
frames of a sender, True in those of a receiver.

Source: AMQP 1.0, part 2, section 2.7.
"""

from __future__ import annotations

from typing import Any

from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.states import DeliveryState
from broker.amqp.protocol.terminus import Coordinator, Source, Target
from broker.amqp.protocol.types.composites import composite

UINT_MAX = 2**32 - 1


@composite(
    0x10,
    "open",
    "string string uint ushort uint symbols symbols symbols symbols fields",
)
class Open:
    """``idle_time_out`` is in milliseconds."""

    container_id: str
    hostname: str | None = None
    max_frame_size: int = UINT_MAX
    channel_max: int = 0xFFFF
    idle_time_out: int | None = None
    outgoing_locales: tuple[str, ...] = ()
    incoming_locales: tuple[str, ...] = ()
    offered_capabilities: tuple[str, ...] = ()
    desired_capabilities: tuple[str, ...] = ()
    properties: dict[Any, Any] | None = None


@composite(
    0x11, "begin", "ushort uint uint uint uint symbols symbols fields", kw_only=True
)
class Begin:
    remote_channel: int | None = None
    next_outgoing_id: int
    incoming_window: int
    outgoing_window: int
    handle_max: int = UINT_MAX
    offered_capabilities: tuple[str, ...] = ()
    desired_capabilities: tuple[str, ...] = ()
    properties: dict[Any, Any] | None = None


@composite(
    0x12,
    "attach",
    "string uint boolean ubyte ubyte source terminus map boolean uint ulong symbols"
    " symbols fields",
)
class Attach:
    """``snd_settle_mode``: 0 unsettled, 1 settled, 2 mixed. ``rcv_settle_mode``: 0 the
    receiver settles first, 1 the receiver settles second."""

    name: str
    handle: int
    role: bool
    snd_settle_mode: int = 2
    rcv_settle_mode: int = 0
    source: Source | None = None
    target: Target | Coordinator | None = None
    unsettled: dict[Any, Any] | None = None
    incomplete_unsettled: bool = False
    initial_delivery_count: int | None = None
    max_message_size: int | None = None
    offered_capabilities: tuple[str, ...] = ()
    desired_capabilities: tuple[str, ...] = ()
    properties: dict[Any, Any] | None = None


@composite(
    0x13,
    "flow",
    "uint uint uint uint uint uint uint uint boolean boolean fields",
    kw_only=True,
)
class Flow:
    """A flow of a link if it has a ``handle``; otherwise of the session only."""

    next_incoming_id: int | None = None
    incoming_window: int
    next_outgoing_id: int
    outgoing_window: int
    handle: int | None = None
    delivery_count: int | None = None
    link_credit: int | None = None
    available: int | None = None
    drain: bool = False
    echo: bool = False
    properties: dict[Any, Any] | None = None


@composite(
    0x14,
    "transfer",
    "uint uint tag uint boolean boolean ubyte state boolean boolean boolean",
)
class Transfer:
    """A message or a part of a message; the payload follows it in its frame.

    ``settled`` is None if the value of the message's first transfer applies.
    """

    handle: int
    delivery_id: int | None = None
    delivery_tag: bytes | None = None
    message_format: int | None = None
    settled: bool | None = None
    more: bool = False
    rcv_settle_mode: int | None = None
    state: DeliveryState | None = None
    resume: bool = False
    aborted: bool = False
    batchable: bool = False


@composite(0x15, "disposition", "boolean uint uint boolean state boolean")
class Disposition:
    """The state of the deliveries ``first`` to ``last``, or of ``first`` only."""

    role: bool
    first: int
    last: int | None = None
    settled: bool = False
    state: DeliveryState | None = None
    batchable: bool = False


@composite(0x16, "detach", "uint boolean error")
class Detach:
    handle: int
    closed: bool = False
    error: Error | None = None


@composite(0x17, "end", "error")
class End:
    error: Error | None = None


@composite(0x18, "close", "error")
class Close:
    error: Error | None = None
