"""What a session answers whose provider has no transactions that a link could use."""

from __future__ import annotations

from typing import ClassVar

from broker.bridges.providers.interface import Factory
from broker.errors.bridges import WrongFactory


class NoTransactions:
    """That part of ``interface.Session``: none begins, so none is ever open.

    Attributes:
        no_transactions: why not, as the refusal says it.
    """

    factory: Factory
    no_transactions: ClassVar[str]

    def refuse(self) -> None:
        raise WrongFactory(self.factory.name, self.no_transactions)

    def begin(self) -> None:
        self.refuse()

    def commit(self) -> None:
        self.refuse()

    def roll_back(self) -> None:
        """Nothing is ever open."""

    def prepare(self, xid: str) -> None:
        self.refuse()

    def commit_prepared(self, xid: str) -> None:
        self.refuse()

    def roll_back_prepared(self, xid: str) -> None:
        self.refuse()

    def in_doubt(self, prefix: str) -> list[str]:
        return []
