"""End a unit of work by an error: back it out, or reject it if the error says so.

A rejected delivery gets no further attempt. It becomes a dead letter at once, or is
discarded if no dead letter address is set. IBM MQ's policy has no rejection: without a
dead letter address the delivery is backed out.

Source:
    ActiveMQ Artemis, ServerConsumerImpl.reject, as AMQP's outcome "rejected" asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from broker.errors.units_of_work import Reject
from broker.formats.error_fingerprint import readable
from broker.models import Kind, Place
from broker.queueing.transfer import Record
from broker.settlement import settle
from broker.settlement.backout import dispose_of
from broker.settlement.redelivery_policy import Disposition


def end(uow: int, error: BaseException, **about: Any) -> list[Disposition]:
    """End a unit of work as its error says; for ``about`` see ``settle.back_out``.

    Raises:
        LockLost: the unit of work has ended already.
    """
    return settle.back_out(
        uow, describe(error), rejected=isinstance(error, Reject), **about
    )


def end_ready(
    queue_id: int, ids: Sequence[int], error: BaseException, **about: Any
) -> list[Disposition]:
    """As ``end``, for deliveries whose transaction was rolled back, so that their
    entries are ready again."""
    rejected = isinstance(error, Reject)
    return settle.back_out_ready(
        queue_id, ids, describe(error), rejected=rejected, **about
    )


@transaction.atomic
def reject_some(
    uow: int,
    queue_id: int,
    ids: Sequence[int],
    *,
    error: str,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Dead-letter some deliveries of a unit of work, which stays open.

    Raises:
        LockLost: the unit of work no longer holds one of them; then none is
            dead-lettered.
    """
    held = settle.take_some(uow, queue_id, ids, now)
    detail = {"error": readable(error)}
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, detail, now)
    dispose_of(held, record, None, rejected=True)


def describe(error: BaseException) -> str:
    """An exception in one line, for operators."""
    text = str(error).strip()
    if isinstance(error, Reject):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
