"""Errors of requests with an idempotency key."""

from __future__ import annotations

from broker.errors import BrokerError


class AnotherRequest(BrokerError):
    """A key was used before for another request; nothing was done."""

    code = "idempotency-key-reused"

    key: str

    sentence = (
        "The key {key!r} was already used for another request. Use a new key for each"
        " request, and the same key only to repeat a request."
    )


class StillUnderWay(BrokerError):
    """The first request with this key is still running; nothing was done."""

    code = "idempotency-key-in-use"

    key: str

    sentence = (
        "The first request with the key {key!r} is still running. Try again in a few"
        " seconds."
    )
