"""An AMQP connection: bytes in, events out; calls in, bytes out. For either side.

It uses no socket and no clock, and no SASL, which comes before it (``sasl``). Nothing
that the peer sends raises an exception: on a protocol error the engine sends a close
with the error, and gives the event ``Closed``.

Source: AMQP 1.0, part 2, section 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from broker.amqp.protocol import conditions
from broker.amqp.protocol.channels import Channels
from broker.amqp.protocol.conditions import AmqpError, Error
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.events import Closed, Event, Opened
from broker.amqp.protocol.frames import AMQP, AMQP_HEADER, HEARTBEAT, Frames, frame
from broker.amqp.protocol.heartbeats import Heartbeats
from broker.amqp.protocol.limits import Limits
from broker.amqp.protocol.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Performative,
    Transfer,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.session import Session
from broker.amqp.protocol.types.types import Symbol

__all__ = ["Connection", "Limits"]

LEAST_HEAD = 8  # bytes of a frame before its body
LEAST_FRAME = 512  # smallest max-frame-size that the standard allows
NOT_ESTABLISHED = Symbol("amqp:connection-establishment-failed")


class Connection:
    """One connection.

    Args:
        container_id: our container id.
        is_server: whether the peer speaks first.
        limits: limits for the peer.
        hostname: the hostname that a client asks for.
        idle_timeout_ms: silence after which the peer counts as lost; half of it is
            announced. None: no limit.
        offered: our capabilities.
        desired: the capabilities that we want.
        properties: the properties of our open, by name.

    Attributes:
        remote: the peer's open; None before.
        active: neither side has closed it yet.
        events: the events that ``receive`` returns next.
        links: the number of endpoints that are not yet detached by both sides.
        first_id: the first id of deliveries and frames in each session.
        context: free for the caller.
    """

    def __init__(  # noqa: PLR0913 – all but the first are keywords
        self,
        container_id: str,
        *,
        is_server: bool,
        limits: Limits | None = None,
        hostname: str | None = None,
        idle_timeout_ms: int | None = None,
        offered: Sequence[str] = (),
        desired: Sequence[str] = (),
        properties: dict[Any, Any] | None = None,
    ) -> None:
        self.is_server = is_server
        self.limits = limits or Limits()
        self.own = Open(
            container_id,
            hostname,
            max_frame_size=self.limits.max_frame_size,
            channel_max=self.limits.channel_max,
            idle_time_out=idle_timeout_ms and idle_timeout_ms // 2,
            offered_capabilities=tuple(offered),
            desired_capabilities=tuple(desired),
            properties=properties,
        )
        self.remote: Open | None = None
        self.active = True
        self.over = False  # whether received bytes are ignored
        self.greeted = False  # our protocol header is written
        self.opened = False  # our open is written
        # Largest frame that we may send to the peer, in bytes.
        self.frame_size = self.limits.max_frame_size
        self.events: list[Event] = []
        self.head = bytearray()  # bytes to write before ``out``
        self.out: list[bytes | memoryview] = []
        # Bytes of the peer's header so far; None once it is complete.
        self.start: bytes | None = b""
        self.frames = Frames(self.limits.max_frame_size)
        self.heartbeats = Heartbeats(idle_timeout_ms)
        self.channels = Channels(self)
        # Sessions whose receiving windows are half used.
        self.narrow: list[Session] = []
        self.links = 0
        self.partial_bytes = 0
        self.first_id = 0
        self.context: Any = None
        self.actions: dict[type, Callable[[int, Any], None]] = {
            Open: self.on_open,
            Begin: self.channels.begun,
            End: self.channels.ended,
            Close: self.on_close,
            Attach: self.on_session,
            Flow: self.on_session,
            Disposition: self.on_session,
            Detach: self.on_session,
        }

    @property
    def sessions(self) -> list[Session]:
        """The sessions that not both sides have ended; they stay listed after a
        close."""
        return list(self.channels.by_local.values())

    def endpoints(self) -> Iterator[Endpoint]:
        """The endpoints of all sessions."""
        for session in self.sessions:
            yield from session.endpoints()

    def receive(self, data: bytes) -> list[Event]:
        """Process received bytes, in pieces of any size; return the events.

        Call it with b"" for the events found by ``tick``. It raises nothing for what
        the peer sends. After ``Closed``, bytes are ignored.
        """
        if data and not self.over:
            self.heartbeats.heard = True
            try:
                self.read(data)
            except AmqpError as error:
                self.fail(error)
            while self.narrow:
                self.narrow.pop().widen()
        events, self.events = self.events, []
        return events

    def outgoing(self) -> bytes:
        """Take the bytes to write; b"" if there are none."""
        if not self.opened:
            data, self.head = bytes(self.head), bytearray()
        elif self.head:
            data, self.head = b"".join((self.head, *self.out)), bytearray()
            self.out.clear()
        elif self.out:
            data = b"".join(self.out)
            self.out.clear()
        else:
            return b""
        self.heartbeats.spoken = True
        return data

    def open(self, **fields: Any) -> None:
        """Send our open; other frames are held back until then.

        Args:
            fields: fields of ``performatives.Open`` that override the constructor's.
        """
        if self.opened or not self.active:
            return
        self.greet()
        body = encode_performative(replace(self.own, **fields))
        self.head += frame(0, body)
        self.opened = True

    def greet(self) -> None:
        """Send the protocol header, once."""
        if not self.greeted:
            self.head += AMQP_HEADER
            self.greeted = True

    def close(self, error: AmqpError | None = None) -> None:
        """Close the connection; a server that has not opened yet sends the error after
        its open.

        The peer's answer gives the event ``Closed``; no other event can follow.
        """
        if not self.active:
            return
        if self.is_server:
            properties = self.own.properties or {}
            self.open(properties={**properties, NOT_ESTABLISHED: True})
        if self.opened:
            self.emit(0, Close(None if error is None else error.as_error()))
        self.stop()

    def begin(self) -> Session:
        """Begin a session; the peer's answer gives the event ``Begun``.

        Raises:
            ValueError: the peer allows no more channels.
        """
        return self.channels.begin()

    def tick(self, now_s: float) -> float:
        """Check the idle time-outs of both sides.

        Then call ``receive(b"")`` for its event and ``outgoing`` for its heartbeat.

        Args:
            now_s: seconds of a monotonic clock.

        Returns:
            When to call it again, in seconds of the same clock; infinity for never.
        """
        if self.over:
            return inf
        silence = self.heartbeats
        silence.look(now_s)
        if silence.is_lost(now_s):
            error = f"nothing came for {silence.allowed_s:g} seconds"
            self.fail(AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, error))
            return inf
        if self.opened and silence.is_due(now_s):
            self.out.append(HEARTBEAT)
            silence.spoken_at = now_s
        return silence.next_look(now_s)

    # Calls of sessions and endpoints.

    def emit(self, channel: int, performative: Performative) -> None:
        """Send a frame; if it is too large for the peer, close the connection."""
        body = encode_performative(performative)
        if len(body) + LEAST_HEAD <= self.frame_size:
            self.out.append(frame(channel, body))
        elif isinstance(performative, Close) and performative.error:
            self.emit(channel, Close(Error(performative.error.condition)))
        else:
            error = f"{len(body)} bytes are more than a frame of the peer holds"
            self.fail(AmqpError(conditions.FRAME_SIZE_TOO_SMALL, error))

    def fail(self, error: AmqpError) -> None:
        """Close because of the peer's error, and add the event ``Closed``."""
        if self.over:
            return
        if self.start is None:
            self.close(error)
        self.stop()
        self.over = True
        self.events.append(Closed(error.as_error()))

    def stop(self) -> None:
        self.active = False
        for session in self.sessions:
            if session.active:
                session.stop()

    def hold(self, size_bytes: int) -> bool:
        """Count bytes of incomplete messages; False if there are too many bytes."""
        total = self.partial_bytes + size_bytes
        if total > self.limits.partial_bytes:
            return False
        self.partial_bytes = total
        return True

    # Frames from the peer.

    def read(self, data: bytes) -> None:
        if self.start is not None:
            data = self.read_header(self.start + data)
        by_remote = self.channels.by_remote
        for kind, channel, body, begin, end in self.frames.feed(data):
            if kind != AMQP:
                raise AmqpError(conditions.FRAMING_ERROR, f"a frame of kind {kind}")
            if begin == end:
                continue
            performative, at = decode_performative(body, begin, end)
            if not self.active and type(performative) is not Close:
                continue  # the peer has not seen our close yet
            if type(performative) is Transfer:
                session = by_remote.get(channel) or self.channels.on(channel)
                session.transfer(performative, body[at:end])
            else:
                self.act(channel, performative)
            if self.over:
                return

    def read_header(self, data: bytes) -> bytes:
        """Read the protocol header, and answer it.

        Returns:
            The bytes after it.
        """
        if not AMQP_HEADER.startswith(data[: len(AMQP_HEADER)]):
            self.greet()
            raise AmqpError(conditions.FRAMING_ERROR, "another protocol than AMQP 1.0")
        if len(data) < len(AMQP_HEADER):
            self.start = data
            return b""
        self.start = None
        if self.is_server:
            self.greet()
        return data[len(AMQP_HEADER) :]

    def act(self, channel: int, performative: Performative) -> None:
        action = self.actions.get(type(performative))
        if action is None:
            raise AmqpError(conditions.NOT_ALLOWED, "SASL is over")
        if self.remote is None and not isinstance(performative, Open):
            raise AmqpError(conditions.ILLEGAL_STATE, "the connection is not open")
        action(channel, performative)

    def on_session(self, channel: int, performative: Performative) -> None:
        self.channels.on(channel).receive(performative)

    def on_open(self, channel: int, said: Open) -> None:
        if self.remote is not None:
            raise AmqpError(conditions.ILLEGAL_STATE, "the connection is open")
        if said.max_frame_size < LEAST_FRAME:
            error = f"frames of {said.max_frame_size} bytes"
            raise AmqpError(conditions.INVALID_FIELD, error)
        self.remote = said
        self.frame_size = min(said.max_frame_size, self.limits.max_frame_size)
        self.heartbeats.owe(said.idle_time_out)
        self.events.append(Opened(said))

    def on_close(self, channel: int, said: Close) -> None:
        self.close()
        self.over = True
        self.events.append(Closed(said.error, by_peer=True))
