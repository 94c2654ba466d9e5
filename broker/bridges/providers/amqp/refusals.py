"""Refusals of an AMQP provider, as errors of links."""

from __future__ import annotations

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import Error
from broker.errors.bridges import (
    Hold,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)

FINAL = frozenset(  # conditions for which a retry is useless
    {
        *(c.NOT_FOUND, c.RESOURCE_DELETED, c.UNAUTHORIZED_ACCESS, c.NOT_ALLOWED),
        *(c.NOT_IMPLEMENTED, c.INVALID_FIELD, c.PRECONDITION_FAILED),
        c.MESSAGE_SIZE_EXCEEDED,
    }
)
WHAT_TO_DO = {
    c.NOT_FOUND: "Create it at the provider, or correct the name.",
    c.RESOURCE_DELETED: "Create it at the provider again, or correct the name.",
    c.UNAUTHORIZED_ACCESS: "Give the user of the factory the right to use it.",
    c.MESSAGE_SIZE_EXCEEDED: "Remove the message from the source.",
}


def words(error: Error | None) -> str:
    """The provider's reason as a text."""
    if error is None:
        return "it does not say why"
    if not error.description:
        return error.condition
    return f"{error.description.rstrip('. ')} ({error.condition})"


def refusal(factory: str, what: str, error: Error | None) -> ProviderError:
    """The error for a link that the provider refuses or ends.

    Args:
        factory: the name of the factory.
        what: what was asked for, as "queue:orders".
        error: the provider's error.
    """
    condition = None if error is None else error.condition
    why = f"The provider refuses to attach {what}: {words(error)}."
    if condition not in FINAL:
        return ProviderLost(factory, why)
    more = WHAT_TO_DO.get(condition or "", "")
    return WrongFactory(factory, f"{why} {more}".rstrip())


def not_accepted(
    factory: str, state: p.DeliveryState | None, before: str = ""
) -> SendRefused | None:
    """The refusal of a message or a commit; None if it was accepted."""
    why = unsent(state)
    return (
        None if why is None else SendRefused(factory, before + why, Hold.from_text(why))
    )


def unsent(state: p.DeliveryState | None) -> str | None:
    """The reason that a message was not accepted; None if it was accepted.

    Args:
        state: the final state from the provider.
    """
    if isinstance(state, p.TransactionalState):
        state = state.outcome or p.Accepted()
    match state:
        case p.Accepted():
            return None
        case p.Rejected():
            return f"The provider rejected the message: {words(state.error)}."
        case p.Released():
            return "The provider cannot accept the message now (released)."
        case p.Modified():
            return (
                "The provider did not accept the message, and gave no reason"
                " (modified)."
            )
    return "The provider did not send an outcome for the message."
