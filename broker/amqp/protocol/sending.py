"""The end of an AMQP link that sends.

Source: AMQP 1.0, part 2, sections 2.6.7 and 2.6.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

from broker.amqp.protocol import frames
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoint import LONGEST_TAG, Endpoint
from broker.amqp.protocol.performatives import (
    DeliveryState,
    Flow,
    Transfer,
    encode_performative,
)
from broker.amqp.protocol.types.composites import encode_composite
from broker.amqp.protocol.types.serial_numbers import MASK, ahead

if TYPE_CHECKING:
    from broker.amqp.protocol.session import Session

HEAD = Struct(">IBBH4sBBBIBIBB")
LONGEST_HEAD = 80  # most bytes of a transfer frame before the payload
TAILS = {  # last fields (format, settled, more), by the values of settled and more
    (False, False): b"\x43\x42",
    (True, False): b"\x43\x41",
    (False, True): b"\x43\x42\x41",
    (True, True): b"\x43\x41\x41",
}


class Sender(Endpoint):
    """Sends messages, within the credit that the peer gives.

    Attributes:
        drain: whether the peer asks to drain: send what there is now, and call
            ``drained``.
        delivery_count: messages sent.
    """

    role = False

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.initial = 0  # initial delivery count
        self.kept = 0  # messages that wait for the peer's window and are not begun
        # A flow must be sent after the waiting messages have begun.
        self.is_flow_due = False

    @property
    def largest(self) -> int | None:
        """The largest message that the peer accepts, in bytes; None if there is no
        limit."""
        return (self.attach and self.attach.max_message_size) or None

    def send(
        self,
        payload: bytes | Sequence[bytes],
        *,
        tag: bytes,
        settled: bool = False,
        message_format: int = 0,
        state: DeliveryState | None = None,
    ) -> Delivery:
        """Send a message, in as many frames as the peer's frame size needs.

        Frames that the peer's window does not allow wait in the session, and are sent
        later by themselves. Check ``session.can_send`` before each message to keep few
        waiting.

        Args:
            payload: the encoded sections; parts are joined.
            tag: 1 to 32 bytes.
            settled: send it settled; it is not put into ``unsettled``.
            message_format: 0 for AMQP's own.
            state: the state to send with it, as that of a transaction.

        Raises:
            ValueError: there is no credit, or the tag is too long or empty.
        """
        if self.credit <= 0:
            raise ValueError("there is no credit to send by")
        if not 0 < len(tag) <= LONGEST_TAG:
            raise ValueError(f"a tag of {len(tag)} bytes")
        session = self.session
        number = session.next_delivery_id
        session.next_delivery_id = (number + 1) & MASK
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) & MASK
        delivery = Delivery(number, tag, self, b"", message_format, settled, state)
        if not settled:
            session.outgoing[number] = self.unsettled[number] = delivery
        parts = (payload,) if isinstance(payload, bytes) else payload
        self.write(delivery, parts)
        return delivery

    def write(self, delivery: Delivery, parts: Sequence[bytes]) -> None:
        most = self.session.connection.frame_size - LONGEST_HEAD
        if delivery.state is not None:
            most -= len(encode_composite(delivery.state))
        size = sum(map(len, parts))
        if size <= most:
            head = self.head(delivery, size, more=False)
            self.session.outlet.send(self, head, parts, begins=True)
            return
        whole = memoryview(b"".join(parts))
        for at in range(0, size, most):
            part = whole[at : at + most]
            head = self.head(delivery, len(part), more=at + most < size)
            self.session.outlet.send(self, head, (part,), begins=not at)

    def head(self, delivery: Delivery, size: int, *, more: bool) -> bytes:
        """A transfer frame without its payload of ``size`` bytes."""
        if delivery.state is not None:
            return self.unusual_head(delivery, size, more=more)
        tag = delivery.tag
        tail = TAILS[delivery.settled, more]
        if delivery.message_format:
            tail = b"\x70" + delivery.message_format.to_bytes(4, "big") + tail[1:]
        fields = len(tag) + len(tail) + 13
        return (
            HEAD.pack(
                fields + size + 13,
                2,
                0,
                self.session.channel,
                b"\0S\x14\xc0",
                fields,
                6 if more else 5,
                0x70,
                self.handle,
                0x70,
                delivery.id,
                0xA0,
                len(tag),
            )
            + tag
            + tail
        )

    def unusual_head(self, delivery: Delivery, size: int, *, more: bool) -> bytes:
        """Like ``head``, for a transfer with a state."""
        transfer = Transfer(
            self.handle,
            delivery.id,
            delivery.tag,
            delivery.message_format,
            delivery.settled,
            more,
            state=delivery.state,
        )
        body = encode_performative(transfer)
        size += frames.LEAST + len(body)
        return frames.HEAD.pack(size, 2, frames.AMQP, self.session.channel) + body

    def drained(self) -> None:
        """Tell the peer that there is nothing more to send, and give up the credit.

        The flow is sent after the messages that wait for the peer's window.
        """
        if not self.attached:
            return
        self.delivery_count = (self.delivery_count + self.credit) & MASK
        self.credit = 0
        self.is_flow_due = True
        self.say_drained()

    def let_out(self) -> None:
        """Note that a waiting message has begun to be sent."""
        self.kept -= 1
        if self.is_flow_due:
            self.say_drained()

    def say_drained(self) -> None:
        if not self.kept:
            self.is_flow_due = False
            self.session.send_flow(self)
            self.drain = False

    def leave(self) -> None:
        super().leave()
        self.session.outlet.forget(self)

    def standing(self) -> tuple[int, int]:
        """Delivery count and credit as the peer sees them; the peer has not seen the
        waiting messages."""
        return (self.delivery_count - self.kept) & MASK, self.credit + self.kept

    def counting(self, count: int = 0, largest: int | None = None) -> dict[str, Any]:
        self.delivery_count = self.initial = count
        return {"initial_delivery_count": count, "max_message_size": largest}

    def flow(self, flow: Flow) -> None:
        if flow.link_credit is not None:
            count = flow.delivery_count
            unseen = ahead(
                self.delivery_count, self.initial if count is None else count
            )
            self.credit = max(0, flow.link_credit - max(0, unseen))
        self.drain = flow.drain
        if flow.echo:
            self.echo()
        self.session.flowed(self)
