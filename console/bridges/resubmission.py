"""Plan to resubmit dead messages of a link through it."""

from __future__ import annotations

from django.db import transaction

from broker.acts.operations import rights
from broker.bridges import resubmit
from broker.errors.operations import NothingChosen
from broker.models import Link, Operation
from broker.operations import Chosen, Order
from broker.security.authorities import Principal
from console.messages import link_letters as letters
from console.messages.dead_letter_query import in_words, names_for, one_in_words


@transaction.atomic
def plan_through(
    user: Principal,
    one: Link,
    *,
    message_id: int | None = None,
    fingerprint: str = "",
    reason: str = "",
) -> Operation:
    """Freeze dead messages of a link for a move to the link's own queue.

    Args:
        user: who plans it.
        one: the link.
        message_id: only this message.
        fingerprint: only those of this group.
        reason: text for the audit.

    Raises:
        NothingChosen: none of these messages is on the queue.
        NotAuthorized: the user lacks the authority to get or to put them.
    """
    names = names_for(user)
    selection = letters.selection_of(one, names, fingerprint or None)
    scope = f"dead messages of the link {one}"
    if selection is None:
        raise NothingChosen(scope)
    if message_id:
        scope = f"{one_in_words(message_id, names)}, a dead message of the link {one}"
    elif fingerprint:
        scope = in_words(selection, names).replace("all dead letters", scope, 1)
    chosen = Chosen(
        letters=selection,
        ids=(message_id,) if message_id else (),
        selector=letters.own_only(one),
    )
    order = Order(Operation.Kind.MOVE, resubmit.ensure(one).name)
    return rights.plan(user, order, chosen, scope=scope, reason=reason)
