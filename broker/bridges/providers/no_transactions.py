"""The transaction methods of a session whose provider has no transactions for links."""

from __future__ import annotations

from typing import ClassVar

from broker.bridges.providers.interface import Factory
from broker.errors.bridges import WrongFactory


class NoTransactions:
    """The transaction methods of ``interface.Session``: no transaction can begin, so
    none is ever open.

    Attributes:
        no_transactions: the reason, as a sentence for the error.
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
        """Do nothing: no transaction is ever open."""

    def prepare(self, xid: str) -> None:
        self.refuse()

    def commit_prepared(self, xid: str) -> None:
        self.refuse()

    def roll_back_prepared(self, xid: str) -> None:
        self.refuse()

    def in_doubt(self, prefix: str) -> list[str]:
        return []
