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
    """Masks for several messages. A user who gives a reason and has the authority to
    unmask sees everything.

    Args:
        user: the reader.
        why: reason for unmasking; empty to keep the masks.
        on: the object named in the audit record.
        detail: further facts for the audit record.
    """
    sight = redaction.sight_of(user)
    lifts = bool(why.strip() and sight.rules)
    return redaction.lifted(sight, why, on, **detail) if lifts else sight


def veil_for(user: Principal, message_id: int, why: str = "") -> Veil:
    """The mask of one message; no mask for a user who may unmask and gives a reason.

    Raises:
        MaskedMessage: a reason is given without the authority to unmask.
    """
    if why.strip():
        return lifted_by(user, message_id, why)
    return redaction.sight_of(user).veil(message_id)


def lifted(sight: Sight, veil: Veil, message_id: int, why: str) -> Veil:
    """A message without its mask; the unmasking is recorded in the audit.

    Raises:
        MaskedMessage: this principal lacks the authority to unmask.
        UnmaskingNeedsReason: no reason is given.
    """
    if not veil.may_lift:
        raise MaskedMessage(veil.names)
    redaction.lifted(sight, why, audit.Thing("message", message_id, str(message_id)))
    return CLEAR


def lifted_by(user: Principal, message_id: int, why: str) -> Veil:
    """A message as this user may see it when they give a reason; unchanged if nothing
    is masked.

    Raises:
        MaskedMessage: the authority to unmask is missing.
        UnmaskingNeedsReason: no reason is given.
    """
    sight = redaction.sight_of(user)
    veil = sight.veil(message_id)
    return lifted(sight, veil, message_id, why) if veil else veil


def without_heads(
    user: Principal, entries: Sequence[Browsed], *, is_read: bool
) -> list[Browsed]:
    """A list without the beginnings of masked bodies: a part of a body cannot be
    masked.

    Args:
        user: the reader.
        entries: of the list.
        is_read: whether the list shows beginnings of bodies.
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
    """A message that was got. Users see it masked; applications get what was sent."""
    if authorities.credential_of(user) is not None:
        yield from ((one, CLEAR) for one in deliveries)
        return
    veils = redaction.sight_of(user).veils(one.message_id for one in deliveries)
    yield from ((one, veils[one.message_id]) for one in deliveries)
