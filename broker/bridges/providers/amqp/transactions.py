"""Transactions of the provider: acknowledgements and sends in one commit.

Source:
    AMQP 1.0, part 4.
"""

from __future__ import annotations

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import TRANSACTION_ROLLBACK
from broker.amqp.protocol.sections import VALUE, encode_section
from broker.bridges.providers.amqp.outbox import Outbox
from broker.bridges.providers.amqp.refusals import not_accepted, words
from broker.bridges.providers.amqp.wire import Wire
from broker.errors.bridges import (
    CommitInDoubt,
    Hold,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)

LOCAL = ("amqp:local-transactions",)
WHAT = "transactions"


class Transactions:
    """The transactions of one connection; one is open at a time.

    Attributes:
        open: the id of the open transaction; None if there is none.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.outbox: Outbox | None = None
        self.open: bytes | None = None

    @property
    def name(self) -> str:
        return self.wire.options.factory

    def state(self, outcome: p.Outcome | None = None) -> p.TransactionalState | None:
        """The state for messages of the open transaction; None if there is none."""
        if self.open is None:
            return None
        return p.TransactionalState(self.open, outcome)

    def begin(self) -> None:
        """Begin a transaction.

        Raises:
            WrongFactory: the provider has no transactions.
            ProviderLost: the connection broke.
        """
        if self.open is not None:
            raise ValueError("a transaction is open")
        if self.outbox is None or self.outbox.attachment.end is not None:
            self.outbox = self.coordinator()
        state = self.ask(self.outbox, p.Declare())
        if isinstance(state, p.Declared):
            self.open = state.txn_id
            return
        error = state.error if isinstance(state, p.Rejected) else None
        raise self.none(words(error))

    def coordinator(self) -> Outbox:
        """A link to the provider's coordinator."""
        try:
            return Outbox(self.wire, p.Coordinator(capabilities=LOCAL), WHAT)
        except ProviderError as error:
            if self.wire.why and self.wire.error is None:
                raise  # the connection is lost; this is no refusal
            raise self.none(error.why.rstrip(".")) from error

    def none(self, why: str) -> WrongFactory:
        return WrongFactory(
            self.name,
            f"The provider did not begin a transaction: {why}. Make the link not"
            " transacted, or use a provider that has transactions.",
        )

    def commit(self) -> None:
        """Commit the open transaction.

        Raises:
            SendRefused: the provider did not commit; the transaction is rolled back.
            CommitInDoubt: the connection broke after the discharge was sent.
            ProviderLost: the connection broke before; the transaction is rolled back.
        """
        outbox, discharge = self.ending(fail=False)
        self.wire.pump()
        outbox.wait_for_room()
        try:
            state = self.ask(outbox, discharge)
        except ProviderError as error:
            raise self.unanswered(outbox, error) from error
        refused = not_accepted(self.name, state, "The provider did not commit. ")
        if refused is not None:
            raise refused

    def roll_back(self) -> None:
        """Roll back; no effect if no transaction is open."""
        if self.open is None:
            return
        outbox, discharge = self.ending(fail=True)
        self.ask(outbox, discharge)

    def ending(self, *, fail: bool) -> tuple[Outbox, p.Discharge]:
        """The discharge of the open transaction, which then counts as closed."""
        if self.open is None or self.outbox is None:
            raise ValueError("no transaction is open")
        discharge = p.Discharge(self.open, fail)
        self.open = None
        return self.outbox, discharge

    def ask(
        self, outbox: Outbox, command: p.Declare | p.Discharge
    ) -> p.DeliveryState | None:
        return outbox.send([(0, encode_section(VALUE, command))])[0]

    def unanswered(self, outbox: Outbox, error: ProviderError) -> ProviderError:
        """The error for a commit without an answer."""
        end = outbox.attachment.end
        said = end.error if end is not None else self.wire.error
        if said is not None and said.condition == TRANSACTION_ROLLBACK:
            why = f"The provider rolled back: {words(said)}."
            return SendRefused(self.name, why, Hold.from_text(why))
        if isinstance(error, ProviderLost) or end is not None:
            why = f"It did not answer the commit. {error.why}"
            return CommitInDoubt(self.name, why)
        return error
