"""What redaction rules hide, for pages, the API and the command line alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from broker.errors.redaction import MaskedMessage
from broker.queueing.browse import Browsed
from broker.queueing.get import Delivery
from broker.security import audit, authorities, redaction
from broker.security.authorities import Principal
from broker.security.redaction import CLEAR, Sight, Veil


def sight_for(user: Principal, why: str, on: audit.Thing, **detail: Any) -> Sight:
    """What somebody may see of several messages; all that they may, if they say why.

    Args:
        user: who looks.
        why: what is masked is to be seen; empty where it is not.
        on: where they look.
        detail: what else the audit is to tell.
    """
    sight = redaction.sight_of(user)
    lifts = bool(why.strip() and sight.rules)
    return redaction.lifted(sight, why, on, **detail) if lifts else sight


def veil_for(user: Principal, message_id: int, why: str = "") -> Veil:
    """What is masked of one message; nothing of what they may lift, if they say why.

    Raises:
        MaskedMessage: they say why, and may not.
    """
    if why.strip():
        return lifted_by(user, message_id, why)
    return redaction.sight_of(user).veil(message_id)


def lifted(sight: Sight, veil: Veil, message_id: int, why: str) -> Veil:
    """A message without its veil, written down.

    Raises:
        MaskedMessage: this principal may not lift it.
        UnmaskingNeedsReason: they do not say why.
    """
    if not veil.may_lift:
        raise MaskedMessage(veil.names)
    redaction.lifted(sight, why, audit.Thing("message", message_id, str(message_id)))
    return CLEAR


def lifted_by(user: Principal, message_id: int, why: str) -> Veil:
    """A message as somebody may see it who says why; as it is, if nothing is masked.

    Raises:
        MaskedMessage: they may not.
        UnmaskingNeedsReason: they do not say why.
    """
    sight = redaction.sight_of(user)
    veil = sight.veil(message_id)
    return lifted(sight, veil, message_id, why) if veil else veil


def without_heads(
    user: Principal, entries: Sequence[Browsed], *, is_read: bool
) -> list[Browsed]:
    """A list as somebody may see it: a beginning cannot be masked, so it is left out.

    Args:
        user: who looks.
        entries: of the list.
        is_read: whether beginnings are shown at all.
    """
    sight = redaction.sight_of(user) if is_read else None
    if sight is None or not sight.rules:
        return list(entries)
    veils = sight.veils(one.message_id for one in entries)
    return [
        replace(one, head=mark.encode())
        if (mark := veils[one.message_id].mark)
        else one
        for one in entries
    ]


def seen_by_taker(
    user: Principal, deliveries: Sequence[Delivery]
) -> Iterator[tuple[Delivery, Veil]]:
    """What somebody took, with its veil: applications get what was sent."""
    if authorities.credential_of(user) is not None:
        yield from ((one, CLEAR) for one in deliveries)
        return
    veils = redaction.sight_of(user).veils(one.message_id for one in deliveries)
    yield from ((one, veils[one.message_id]) for one in deliveries)
