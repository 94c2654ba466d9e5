"""Protocols: the parts of a Sender, its client and the listener that a Sender's parts
use."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from broker.amqp.interfaces import LinkContext
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.senders.fetch import Taker
from broker.amqp.senders.in_flight import InFlight
from broker.amqp.senders.wakeups import Waking
from broker.amqp.transactions.pending import TransactionClient, TransactionListener
from broker.models import Subscription
from broker.queueing.get import Delivery


class SenderListener(TransactionListener, Protocol):
    """The part of ``Listener`` that Senders use."""

    waking: Waking


class SenderClient(TransactionClient, Protocol):
    """The part of ``Client`` that Senders use."""

    @property
    def listener(self) -> SenderListener: ...

    @property
    def mechanism(self) -> str: ...


class SenderContext(LinkContext, Protocol):
    """The part of ``Gets`` that its parts use."""

    endpoint: Sender
    node: str
    queue_id: int
    subscription: Subscription | None
    is_settled: bool
    taker: Taker
    held: InFlight
    ended: asyncio.Future[None]

    @property
    def client(self) -> SenderClient: ...

    @property
    def is_blocked(self) -> bool: ...

    def go_on(self) -> None: ...

    def dispatch(self) -> None: ...

    def hide(self, deliveries: Sequence[Delivery]) -> None: ...

    def failed(self, error: BaseException) -> None: ...
