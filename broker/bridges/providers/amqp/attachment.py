"""Our endpoint of a link with the provider, from its attach to its detach."""

from __future__ import annotations

from collections.abc import Callable

from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.events import Detached, Event
from broker.bridges.providers.amqp.refusals import refusal
from broker.bridges.providers.amqp.wire import Wire
from broker.errors.bridges import ProviderLost


class Attachment:
    """The ``context`` of an endpoint.

    Args:
        wire: the connection.
        endpoint: the protocol's endpoint; its attach is sent already.
        what: what it is for, as "queue:orders".
        tell: called with all events but the detach.
    """

    def __init__(
        self,
        wire: Wire,
        endpoint: Endpoint,
        what: str,
        tell: Callable[[Event], None],
    ) -> None:
        self.wire = wire
        self.endpoint = endpoint
        self.what = what
        self.tell = tell
        self.end: Detached | None = None
        endpoint.context = self

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Detached):
            self.end = event
        else:
            self.tell(event)

    def begin(self) -> None:
        """Wait until the provider has answered the attach.

        Raises:
            WrongFactory: it refuses permanently.
            ProviderLost: the connection broke, or it refuses for now.
        """
        try:
            self.wire.until(lambda: self.end or self.is_granted, f"attach {self.what}")
        except ProviderLost as lost:
            if self.wire.error is None:
                raise
            # The provider has ended the session.
            raise self.refusal(self.wire.error) from lost
        self.check()

    @property
    def is_granted(self) -> bool:
        """Whether the provider accepted the attach; a null terminus announces a
        refusal."""
        endpoint = self.endpoint
        has = endpoint.source if endpoint.role else endpoint.target
        return endpoint.attached and has is not None

    def check(self) -> None:
        """Check that the link is open.

        Raises:
            WrongFactory, ProviderLost: the provider has ended the link, or the
                connection.
        """
        self.wire.check()
        if self.end is not None:
            raise self.refusal(self.end.error)

    def refusal(self, error: Error | None) -> Exception:
        return refusal(self.wire.options.factory, self.what, error)

    def detach(self, *, closed: bool) -> None:
        """Detach, and wait for the answer; no effect if the link has ended."""
        if self.end is None and not self.wire.why:
            self.endpoint.detach(closed=closed)
            self.wire.until(lambda: self.end, f"detach {self.what}")
