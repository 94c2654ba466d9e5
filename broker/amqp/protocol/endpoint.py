"""One end of an AMQP link, as far as a Sender and a Receiver are the same.

Source: AMQP 1.0, part 2, section 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.interfaces import SessionOutput
from broker.amqp.protocol.performatives import (
    Attach,
    Coordinator,
    Flow,
    Source,
    Target,
    Transfer,
)

LONGEST_TAG = 32  # bytes


class Endpoint:
    """What a Sender and a Receiver have in common.

    Attributes:
        role: what we say on the wire: False for a Sender, True for a Receiver.
        attach: the peer's attach; None until it answers ours.
        source, target: as the peer has named them last.
        handle, remote_handle: the number of it on our side, and on the peer's.
        credit: messages that may be sent now; 0 once it is gone.
        unsettled: by delivery id, oldest first. Not cleared when the endpoint goes.
        answered: whether our attach was sent.
        gone: whether it was detached, by either side, or refused.
        context: for the user of the engine.
    """

    role: ClassVar[bool]

    def __init__(self, session: SessionOutput[Endpoint], name: str) -> None:
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
        self.gone = False
        self.told = False  # the user needs no Detached any more
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
            source: what is really granted; None repeats what the peer asked for.
            target: the same.
            properties: of our attach.
            offered: our capabilities.
            max_message_size: bytes. A Receiver takes no larger message; at most, and
                by default, ``Limits.max_message_bytes``.
            initial_delivery_count: of a Sender.
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
        """Say no to the peer's attach; no event tells of this endpoint any more.

        The terminus we would have provided is null in our attach: some clients take a
        detach alone for success.
        """
        if self.answered:
            return
        self.told = True
        self.session.handles.detach(self, closed=True, error=error)

    def detach(self, *, closed: bool = True, error: AmqpError | None = None) -> None:
        """End it: for good, or so that it may be attached again.

        Detached tells when the peer has answered. Before, it may still be receiving
        what we sent, but nothing that it says is heard.
        """
        self.session.handles.detach(self, closed=closed, error=error)

    def fail(self, error: AmqpError) -> None:
        """Detach for what the peer did wrong, and tell the user."""
        self.session.handles.cast_off(self, closed=True, error=error)

    def leave(self) -> None:
        """It is gone; nothing is sent or taken any more."""
        self.gone = True
        self.credit = 0

    # What differs between the two.

    def standing(self) -> tuple[int | None, int]:
        """The delivery count, if we know it, and the credit, for a flow."""
        raise NotImplementedError

    def counting(self, count: int = 0, largest: int | None = None) -> dict[str, Any]:
        """Take up what our attach says of counts and sizes; its fields."""
        raise NotImplementedError

    def answered_by(self, attach: Attach) -> None:
        """Take up the peer's attach."""
        self.attach, self.remote_handle = attach, attach.handle
        self.source, self.target = attach.source, attach.target

    def flow(self, flow: Flow) -> None:
        raise NotImplementedError

    def transfer(self, part: Transfer, payload: bytes) -> None:
        self.session.fail(
            AmqpError(conditions.NOT_ALLOWED, "a transfer to what sends itself")
        )
