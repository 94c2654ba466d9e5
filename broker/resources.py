"""Addresses and queues that make themselves: for dead letters, and for what expired."""

from __future__ import annotations


def ensure(to: str, *, origin: str, prefix: str, suffix: str) -> None:
    """Make an address, and its queue for what comes from another, where they are missing.

    Args:
        to: the address, as the setting names it.
        origin: the address that the messages had; the queue takes only theirs.
        prefix: of the queue's name, before ``origin``.
        suffix: after it.
    """
    raise NotImplementedError
