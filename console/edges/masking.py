"""Masking by redaction rules, for pages, the API and the command line."""

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
    """What a user may see of several messages. With a reason, the rules that the user
    may lift are lifted, and the audit records it; other masks stay.

    Args:
        user: the reader.
        why: reason for unmasking; empty to keep all masks.
        on: the object named in the audit record.
        detail: further facts for the audit record.
    """
    sight = redaction.sight_of(user)
    lifts = bool(why.strip() and sight.rules)
    return redaction.lifted(sight, why, on, **detail) if lifts else sight


def veil_for(user: Principal, message_id: int, why: str = "") -> Veil:
    """The mask of one message; it is lifted if a reason is given.

    Raises:
        MaskedMessage: a reason is given, but the user may not lift the mask.
    """
    if why.strip():
        return lifted_by(user, message_id, why)
    return redaction.sight_of(user).veil(message_id)


def lifted(sight: Sight, veil: Veil, message_id: int, why: str) -> Veil:
    """Lift the mask of one message, with a record in the audit; return the empty mask.

    Raises:
        MaskedMessage: the user may not lift every rule of the mask.
        UnmaskingNeedsReason: no reason is given.
    """
    if not veil.may_lift:
        raise MaskedMessage(veil.names)
    redaction.lifted(sight, why, audit.Thing("message", message_id, str(message_id)))
    return CLEAR


def lifted_by(user: Principal, message_id: int, why: str) -> Veil:
    """Lift the mask of one message, if it has one; return the empty mask.

    Raises:
        MaskedMessage: the user may not lift every rule of the mask.
        UnmaskingNeedsReason: no reason is given.
    """
    sight = redaction.sight_of(user)
    veil = sight.veil(message_id)
    return lifted(sight, veil, message_id, why) if veil else veil


def without_heads(
    user: Principal, entries: Sequence[Browsed], *, is_read: bool
) -> list[Browsed]:
    """The entries of a list, with a mark in place of the beginning of each masked body:
    rules can mask only a whole body.

    Args:
        user: the reader.
        entries: the entries.
        is_read: whether the list shows beginnings of bodies; if not, nothing changes.
    """
    sight = redaction.sight_of(user) if is_read else None
    if sight is None or not sight.rules:
        return list(entries)
    veils = sight.veils(one.message_id for one in entries)
    return [
        replace(one, head=mark.encode(), descriptor=None, headers=None)
        if (mark := veils[one.message_id].mark)
        else one
        for one in entries
    ]


def masks_for(
    user: Principal, deliveries: Sequence[Delivery]
) -> Iterator[tuple[Delivery, Veil]]:
    """Each message that was got, with its mask for the user. A credential has no masks:
    applications get what was sent."""
    if authorities.credential_of(user) is not None:
        yield from ((one, CLEAR) for one in deliveries)
        return
    veils = redaction.sight_of(user).veils(one.message_id for one in deliveries)
    yield from ((one, veils[one.message_id]) for one in deliveries)
