"""What is refused to whoever asks for the same thing twice."""

from __future__ import annotations

from broker.errors import BrokerError


class AnotherRequest(BrokerError):
    """A key came again, but for something else; nothing was done."""

    code = "idempotency-key-reused"

    key: str

    def __str__(self) -> str:
        return (
            f"The key {self.key!r} was sent before, with another request. Send each"
            " request with a key of its own, and the same again only to repeat it."
        )


class StillUnderWay(BrokerError):
    """A key came again while the first request with it runs; nothing was done."""

    code = "idempotency-key-in-use"

    key: str

    def __str__(self) -> str:
        return (
            f"The first request with the key {self.key!r} has not come to its end yet."
            " Ask again in some seconds."
        )
