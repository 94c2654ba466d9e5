"""Protocols: the parts of session and connection that producers, consumers and browsers
use. For type checkers only."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from broker.client.jms.holding import Holding
from broker.client.jms.messages import Message
from broker.queueing.get import Delivery
from broker.security.authorities import Principal


class ConnectionContext(Protocol):
    """The part of ``Connection`` that parts of its sessions use."""

    user: Principal
    client_id: str
    now: datetime | None

    @property
    def actor(self) -> str: ...


class SessionContext(Protocol):
    """The part of ``Session`` that its parts use."""

    user: Principal
    prefetch: int
    holding: Holding
    closing: threading.Event

    @property
    def connection(self) -> ConnectionContext: ...

    @property
    def in_use(self) -> AbstractContextManager[Any]: ...

    @property
    def is_transacted(self) -> bool: ...

    @property
    def is_auto(self) -> bool: ...

    def using(self) -> AbstractContextManager[None]: ...

    def commit(self) -> None: ...

    def rollback(self, error: str = "") -> None: ...

    def prepare(self, xid: str) -> None: ...

    def acknowledge(self) -> None: ...

    def reject(self, delivery: Delivery, reason: str) -> None: ...

    def recover(self) -> None: ...

    def close(self, error: str = "") -> None: ...

    def moment(self) -> datetime: ...

    def must_be_transacted(self, *, is_so: bool) -> None: ...

    def returned(self, message: Message) -> bool: ...

    def raised(self, error: str) -> None: ...

    def listen(self) -> None: ...
