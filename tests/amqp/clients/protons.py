"""python-qpid-proton, as the tests use it: blocking, with what it keeps hidden."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from broker.models import Claim
from tests.amqp.listening import Listening
from tests.console.until import until

proton = pytest.importorskip("proton", reason="python-qpid-proton is not installed")
utils = pytest.importorskip("proton.utils")
reactor = pytest.importorskip("proton.reactor")

WITHIN_S = 30


class Got(NamedTuple):
    """What a receiver was given."""

    message: Any  # proton.Message
    delivery: Any  # proton.Delivery

    def settle(self, state: int, **said: Any) -> None:
        """Say what becomes of it; ``said`` is more of a modified or rejected one."""
        for name, value in said.items():
            setattr(self.delivery.local, name, value)
        self.delivery.update(state)
        self.delivery.settle()

    def accept(self) -> None:
        self.settle(proton.Delivery.ACCEPTED)

    def modify(self, **said: Any) -> None:
        self.settle(proton.Delivery.MODIFIED, **said)


@contextmanager
def connected(here: Listening, **options: Any) -> Iterator[Proton]:
    """A client that is logged in; it closes in order if all goes well."""
    client = Proton(here, **options)
    try:
        yield client
    except BaseException:
        client.drop()
        raise
    client.blocking.close()


class Proton:
    """A connection, and what is done on it; each call waits for its answer."""

    def __init__(self, here: Listening, **options: Any) -> None:
        self.names = itertools.count(1)
        self.blocking = utils.BlockingConnection(
            options.pop("url", f"amqp://{here.host}:{here.port}"),
            timeout=WITHIN_S,
            **{
                "user": here.user.username,
                "password": here.password,
                "allowed_mechs": "PLAIN",
                "allow_insecure_mechs": True,
            }
            | options,
        )

    @property
    def connection(self) -> Any:
        return self.blocking.conn

    def until(self, holds: Callable[[], Any]) -> None:
        self.blocking.wait(holds, msg="what the test waits for")

    def sender(self, address: str | None = "orders", *options: Any, **more: Any) -> Any:
        more.setdefault("name", f"puts-{next(self.names)}")
        return self.blocking.create_sender(address, options=list(options), **more)

    def receiver(
        self,
        address: str | None = "orders",
        *options: Any,
        credit: int = 0,
        **more: Any,
    ) -> Any:
        """Credit is given once, and not again as messages come.

        Proton itself would give two of one address the same name.
        """
        more.setdefault("name", f"gets-{next(self.names)}")
        receiver = self.blocking.create_receiver(
            address, 0, options=list(options), **more
        )
        if credit:
            receiver.flow(credit)
        return receiver

    def put(self, *bodies: Any, address: str = "orders", **fields: Any) -> None:
        """Put messages, and wait for each to be accepted."""
        sender = self.sender(address)
        for body in bodies:
            sender.send(proton.Message(body=body, durable=True, **fields))
        sender.close()

    def ask(self, sender: Any, message: Any) -> Any:
        """Send, whatever the answer is; the delivery has it."""
        return sender.send(message, error_states=[])

    def get(self, receiver: Any) -> Got:
        """The next message; it is waited for."""
        fetcher = receiver.fetcher  # its own receive() gives more credit
        self.until(lambda: fetcher.has_message)
        message = fetcher.pop()
        return Got(message, fetcher.unsettled.popleft() if fetcher.unsettled else None)

    def drain(self, receiver: Any, credit: int = 100) -> list[Got]:
        """All that there is."""
        receiver.drain(credit - receiver.credit)
        self.until(lambda: receiver.credit == 0)
        return [self.get(receiver) for _ in range(receiver.fetcher.has_message)]

    def all(self, address: str = "orders", *options: Any) -> list[Any]:
        """Take and accept all that is there, by a receiver of its own."""
        until(nothing_is_held)
        receiver = self.receiver(address, *options)
        taken = self.drain(receiver)
        for one in taken:
            one.accept()
        receiver.close()
        return [one.message for one in taken]

    def seen(self, address: str = "orders", *options: Any) -> list[Any]:
        """The bodies of all that is there, browsed."""
        until(nothing_is_held)
        receiver = self.receiver(address, reactor.Copy(), *options)
        seen = [one.message.body for one in self.drain(receiver)]
        receiver.close()
        return seen

    def refused(self, attach: Callable[..., Any], *args: Any, **more: Any) -> str:
        """The condition by which an attach is refused."""
        with pytest.raises(utils.LinkDetached) as refusal:
            attach(*args, **more)
        return str(refusal.value.condition)

    def drop(self) -> None:
        """Go without a word."""
        selectable = self.connection.transport._selectable
        selectable._delegate.close()


def nothing_is_held() -> bool:
    """What was settled or closed a moment ago is on its way to the database."""
    return not Claim.objects.exists()


def condition(delivery: Any) -> str | None:
    """Of the error with which a message was rejected."""
    assert delivery.remote_state == proton.Delivery.REJECTED
    return delivery.remote.condition.name if delivery.remote.condition else None
