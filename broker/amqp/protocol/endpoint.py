"""One end of an AMQP link: the common base of ``Sender`` and ``Receiver``.

Source: AMQP 1.0, part 2, section 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.performatives import (
    Attach,
    Coordinator,
    Flow,
    Source,
    Target,
    Transfer,
)

if TYPE_CHECKING:
    from broker.amqp.protocol.session import Session

LONGEST_TAG = 32  # longest delivery tag, in bytes


class Endpoint:
    """The common base of ``Sender`` and ``Receiver``.

    Attributes:
        role: the role in our frames: False for a Sender, True for a Receiver.
        attach: the peer's attach; None until it answers ours.
        source, target: those that the peer sent last.
        handle, remote_handle: the link's handle on our side, and on the peer's.
        credit: messages that may be sent now; 0 once it is gone.
        unsettled: deliveries by id, oldest first; not cleared when the endpoint goes.
        answered: whether our attach was sent.
        is_echo_due: whether the peer asked for our state before our attach was sent.
        gone: whether it was detached by either side, or refused.
        context: free for the caller.
    """

    role: ClassVar[bool]

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.attach: Attach | None = None
        self.source: Source | None = None
        self.target: Target | Coordinator | None = None
        self.handle = -1
        self.remote_handle = -1
        self.credit = 0
        self.drain = False
        self.delivery_count = 0
        self.unsettled: dict[int, Delivery] = {}
        self.answered = False
        self.is_echo_due = False
        self.gone = False
        self.told = False  # whether the event Detached was given, or is not needed
        self.context: Any = None

    @property
    def attached(self) -> bool:
        return self.answered and self.attach is not None and not self.gone

    def accept(
        self,
        *,
        source: Source | None = None,
        target: Target | Coordinator | None = None,
        properties: dict[Any, Any] | None = None,
        offered: Sequence[str] = (),
        max_message_size: int | None = None,
        initial_delivery_count: int = 0,
    ) -> None:
        """Answer the peer's attach.

        Args:
            source: the source as granted; None repeats the peer's.
            target: the target as granted; None repeats the peer's.
            properties: the properties of our attach.
            offered: our capabilities.
            max_message_size: bytes; a Receiver refuses larger messages. The maximum,
                and the default, is ``Limits.max_message_bytes``.
            initial_delivery_count: the first delivery count of a Sender.
        """
        if self.answered or self.gone or self.attach is None:
            return
        self.source = source or self.source
        self.target = target or self.target
        self.session.handles.answer(
            self,
            snd_settle_mode=self.attach.snd_settle_mode,
            offered_capabilities=tuple(offered),
            properties=properties,
            **self.counting(initial_delivery_count, max_message_size),
        )

    def refuse(self, error: AmqpError) -> None:
        """Refuse the peer's attach; no more events come for this endpoint.

        We attach with a null terminus and then detach: some clients take a detach alone
        for success.
        """
        if self.answered:
            return
        self.told = True
        self.session.handles.detach(self, closed=True, error=error)

    def detach(self, *, closed: bool = True, error: AmqpError | None = None) -> None:
        """Detach the endpoint: closed for good, or so that it can be attached again.

        The peer's answer gives the event ``Detached``. Until then the peer may still
        receive what we sent, but its frames for this endpoint are ignored.
        """
        self.session.handles.detach(self, closed=closed, error=error)

    def fail(self, error: AmqpError) -> None:
        """Detach because of the peer's error, and add the event ``Detached``."""
        self.session.handles.cast_off(self, closed=True, error=error)

    def leave(self) -> None:
        """Mark the endpoint as gone; it sends and receives nothing any more."""
        self.gone = True
        self.credit = 0

    def echo(self) -> None:
        """Send our state, as the peer asked; after our attach, which announces the
        handle.

        A peer may attach and send a flow in one write.
        """
        self.is_echo_due = not self.answered
        if self.answered:
            self.session.send_flow(self)

    # Methods that differ between Sender and Receiver.

    def standing(self) -> tuple[int | None, int]:
        """The delivery count, if known, and the credit, for a flow frame."""
        raise NotImplementedError

    def counting(self, count: int = 0, largest: int | None = None) -> dict[str, Any]:
        """Set the delivery count and largest size; return them as fields of our
        attach."""
        raise NotImplementedError

    def answered_by(self, attach: Attach) -> None:
        """Apply the peer's attach."""
        self.attach, self.remote_handle = attach, attach.handle
        self.source, self.target = attach.source, attach.target

    def flow(self, flow: Flow) -> None:
        raise NotImplementedError

    def transfer(self, part: Transfer, payload: bytes) -> None:
        self.session.fail(
            AmqpError(conditions.NOT_ALLOWED, "a transfer to what sends itself")
        )
