"""Limits of one connection, enforced by the protocol engine."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one connection; each is the largest value that is allowed.

    Attributes:
        max_frame_size: bytes of a frame, in both directions. The peer may want less.
        channel_max: highest channel number that the peer may use.
        sessions: sessions at once.
        handles: handles of a session: the peer uses 0 to ``handles - 1``.
        links: endpoints at once, in all sessions together.
        max_message_bytes: bytes of a received message, over all its frames.
        partial_bytes: bytes of all incomplete messages together.
        incoming_window: frames that the peer may send before our next flow.
        unsettled_incoming: unsettled received deliveries of a session.
    """

    max_frame_size: int = 65536
    channel_max: int = 255
    sessions: int = 256
    handles: int = 1024
    links: int = 1024
    max_message_bytes: int = 16 * MIB
    partial_bytes: int = 64 * MIB
    incoming_window: int = 2048
    unsettled_incoming: int = 65536
