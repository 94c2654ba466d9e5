"""Seeded defects of the client for asynchronous code."""

from __future__ import annotations

TESTS = "tests/broker/client/test_async_{}.py"
JOINING, OF_PUTS, OF_WAITS = map(TESTS.format, ("joining", "puts", "waits"))
PUTS = "broker/client/asynchronous/puts.py"

# Name, file, text, what it is replaced by, and tests.
ASYNCHRONOUS = [
    (
        "an asynchronous put beside the transaction of its caller",
        PUTS,
        "if await in_transaction():",
        "if not await in_transaction() and False:",
        JOINING,
    ),
    (
        "a transaction of another thread that is overlooked",
        "broker/sql/open_transactions.py",
        "return not django.autocommit",
        "return django.autocommit is None",
        JOINING,
    ),
    (
        "an asynchronous put whose caller is gone",
        PUTS,
        "if not one.receipts.cancelled():",
        "if one.receipts:",
        OF_PUTS,
    ),
    (
        "a refused put that takes others with it",
        "broker/transactions/merged_puts.py",
        "yield from stored(puts[half:])",
        "yield from [error] * len(puts[half:])",
        OF_PUTS,
    ),
    (
        "an end of an asynchronous loop that is cancelled",
        "broker/client/asynchronous/parts.py",
        "await asyncio.shield(self.begun(call))",
        "await self.begun(call)",
        OF_WAITS,
    ),
]
