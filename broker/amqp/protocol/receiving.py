"""The end of an AMQP link that receives.

Source: AMQP 1.0, part 2, sections 2.6.7 and 2.6.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoint import Endpoint
from broker.amqp.protocol.performatives import Attach, Flow, Transfer
from broker.amqp.protocol.types.serial_numbers import MASK, ahead

if TYPE_CHECKING:
    from broker.amqp.protocol.session import Session


class Receiver(Endpoint):
    """Receives messages, for which it grants credit.

    Attributes:
        credit: the credit granted last, less the messages received since.
        delivery_count: messages the peer has sent, as far as we know.
        max_message_size: bytes.
        told_credit: the credit in the peer's last flow since the grant; None if it has
            sent none.
    """

    role = True

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.excess = 0  # credit that we withdrew, but that the peer may have used
        self.max_message_size = session.connection.limits.max_message_bytes
        self.told_credit: int | None = None
        self.partial: Delivery | None = None
        self.buffer = bytearray()  # bytes of the partial delivery

    def grant(self, credit: int, *, drain: bool = False, echo: bool = False) -> None:
        """Set the peer's credit.

        Args:
            credit: the new total, not an increment.
            drain: whether the peer must use the credit at once or give it back; then
                the event ``Drained`` comes.
            echo: whether the peer must answer, which sets ``told_credit``.
        """
        if not self.answered or self.gone:
            return
        self.excess = max(0, self.credit + self.excess - credit)
        self.credit = credit
        self.drain = drain
        self.told_credit = None
        self.session.send_flow(self, echo=echo)

    def counting(self, count: int = 0, largest: int | None = None) -> dict[str, Any]:
        bound = self.session.connection.limits.max_message_bytes
        self.max_message_size = min(largest or bound, bound)
        return {"max_message_size": self.max_message_size}

    def standing(self) -> tuple[int | None, int]:
        return None if self.attach is None else self.delivery_count, self.credit

    def answered_by(self, attach: Attach) -> None:
        super().answered_by(attach)
        self.delivery_count = attach.initial_delivery_count or 0

    def flow(self, flow: Flow) -> None:
        self.told_credit = flow.link_credit
        if flow.delivery_count is not None:
            used = max(0, ahead(flow.delivery_count, self.delivery_count))
            self.delivery_count = (self.delivery_count + used) & MASK
            self.credit = max(0, self.credit - used)
        if flow.echo:
            self.echo()
        if self.drain and not self.credit:
            self.drain = False
            self.session.drained(self)

    def transfer(self, part: Transfer, payload: bytes) -> None:
        """Handle a transfer frame; the last one of a message completes it."""
        if self.gone:  # the peer may not know yet that the endpoint is gone
            return
        delivery = self.partial or self.first(part)
        if delivery is None:
            return
        if part.settled:
            delivery.settled = True
        if part.state is not None:
            delivery.state = part.state
        if part.more or part.aborted or self.partial:
            self.gather(part, delivery, payload)
        elif len(payload) > self.max_message_size:
            self.fail(self.too_large())
        else:
            delivery.payload = payload
            self.session.received(delivery, self)

    def first(self, part: Transfer) -> Delivery | None:
        """The delivery that begins with this frame; if it is not allowed, detach and
        return None."""
        number, tag = part.delivery_id, part.delivery_tag
        if number is None or not tag or part.resume:
            self.fail(self.fault(part))
            return None
        if self.credit:
            self.credit -= 1
        elif self.excess:
            self.excess -= 1
        else:
            error = "there is no credit"
            self.fail(AmqpError(conditions.TRANSFER_LIMIT_EXCEEDED, error))
            return None
        self.delivery_count = (self.delivery_count + 1) & MASK
        return Delivery(number, tag, self, b"", part.message_format or 0)

    def fault(self, part: Transfer) -> AmqpError:
        if part.resume:
            return AmqpError(conditions.NOT_IMPLEMENTED, "deliveries do not resume")
        return AmqpError(conditions.INVALID_FIELD, "a delivery without id or tag")

    def gather(self, part: Transfer, delivery: Delivery, payload: bytes) -> None:
        """Add a frame to a delivery of several frames."""
        if part.delivery_id not in (None, delivery.id):
            error = "a delivery begins before the one before it has ended"
            self.fail(AmqpError(conditions.NOT_ALLOWED, error))
        elif part.aborted:
            self.drop_partial()
        elif len(self.buffer) + len(payload) > self.max_message_size:
            self.fail(self.too_large())
        elif not self.session.connection.hold(len(payload)):
            error = "too much is under way in part"
            self.fail(AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, error))
        else:
            self.partial = delivery
            self.buffer += payload
            if not part.more:
                delivery.payload = bytes(self.buffer)
                self.drop_partial()
                self.session.received(delivery, self)

    def drop_partial(self) -> None:
        self.session.connection.hold(-len(self.buffer))
        self.partial = None
        self.buffer = bytearray()

    def leave(self) -> None:
        super().leave()
        self.excess = 0
        self.drop_partial()

    def too_large(self) -> AmqpError:
        return AmqpError(
            conditions.MESSAGE_SIZE_EXCEEDED,
            f"a message larger than {self.max_message_size} bytes",
        )
