"""The sessions of a connection, by channel number.

Source: AMQP 1.0, part 2, section 2.5.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.events import Begun, Ended
from broker.amqp.protocol.performatives import Begin, End
from broker.amqp.protocol.session import OUTGOING_WINDOW, Session

if TYPE_CHECKING:
    from broker.amqp.protocol.connection import Connection


class Channels:
    """Sessions by our channel and by the peer's, until both sides have ended them."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.by_local: dict[int, Session] = {}
        self.by_remote: dict[int, Session] = {}

    def begin(self) -> Session:
        """Begin a session; the peer's answer gives the event ``Begun``.

        Raises:
            ValueError: the peer allows no more channels.
        """
        session = self.lowest()
        if session is None:
            raise ValueError("the peer takes no more sessions")
        self.say_begin(session)
        return session

    def lowest(self) -> Session | None:
        """A session on the lowest free channel; None if the peer allows no more."""
        channel = next(number for number in count() if number not in self.by_local)
        if (
            self.connection.remote is not None
            and channel > self.connection.remote.channel_max
        ):
            return None
        session = self.by_local[channel] = Session(
            self.connection, channel, self.connection.first_id
        )
        return session

    def say_begin(self, session: Session) -> None:
        begin = Begin(
            remote_channel=session.remote_channel,
            next_outgoing_id=session.outlet.next_id,
            incoming_window=session.window,
            outgoing_window=OUTGOING_WINDOW,
            handle_max=self.connection.limits.handles - 1,
        )
        self.connection.emit(session.channel, begin)

    def on(self, channel: int) -> Session:
        session = self.by_remote.get(channel)
        if session is None:
            error = f"no session is on channel {channel}"
            raise AmqpError(conditions.FRAMING_ERROR, error)
        return session

    def begun(self, channel: int, begin: Begin) -> None:
        if channel > self.connection.limits.channel_max or channel in self.by_remote:
            error = f"channel {channel} is not to be had"
            raise AmqpError(conditions.FRAMING_ERROR, error)
        if begin.remote_channel is None:
            session = self.answer(channel)
        else:
            session = self.ours(begin.remote_channel)
        self.by_remote[channel] = session
        session.answered_by(channel, begin)
        if session.active:
            self.connection.events.append(Begun(session))

    def answer(self, channel: int) -> Session:
        session = self.lowest()
        if session is None:
            error = "the peer takes fewer sessions than it begins"
            raise AmqpError(conditions.NOT_ALLOWED, error)
        session.remote_channel = channel
        self.say_begin(session)
        if len(self.by_remote) >= self.connection.limits.sessions:
            error = f"more than {self.connection.limits.sessions} sessions"
            session.end(AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, error))
            session.told = True
        return session

    def ours(self, channel: int) -> Session:
        """The session begun by us that the peer's begin answers."""
        session = self.by_local.get(channel)
        if session is None or session.begin is not None:
            error = f"no session was begun on channel {channel}"
            raise AmqpError(conditions.FRAMING_ERROR, error)
        return session

    def ended(self, channel: int, said: End) -> None:
        session = self.on(channel)
        session.end()
        del self.by_remote[channel], self.by_local[session.channel]
        if not session.told:
            self.connection.events.append(Ended(session, said.error))
