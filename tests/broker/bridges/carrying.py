"""What a link writes when it carries messages between two queues here, by its own
functions; no link is run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from broker.bridges.books import Outcome, Role, TransferEntry, note
from broker.models import Queue
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import UnitOfWork
from tests.make import NOON

LINK = "shop/orders-out"


def carry(
    source: str = "orders",
    target: str = "shipped",
    limit: int = 1,
    *,
    now: datetime = NOON,
    link: str = LINK,
    **fields: Any,
) -> list[tuple[int, int]]:
    """Get some, put copies of them, tell of both, accept; the numbers of each pair.

    Args:
        fields: of ``TransferEntry``, of each of them.
    """
    entry = {"outcome": Outcome.TRANSFERRED, "latency_ms": 250, **fields}
    with transaction.atomic():
        work = UnitOfWork(actor=f"link {link}", now=now)
        got = work.get(source, limit)
        copies = [NewMessage(target, one.body, message_id=new(one)) for one in got]
        put = put_many(copies, actor=f"link {link}", now=now)
        pairs = list(zip(got, put, strict=True))
        tell(
            [
                TransferEntry(one.queue_id, one.message_id, other=new(one),
                      copy=there.message_id, **entry)
                for one, there in pairs
            ],
            "source", link=link, now=now,
        )  # fmt: skip
        tell(
            [
                TransferEntry(
                    queue_id, there.message_id, other=old(one.message_id), **entry
                )
                for one, there in pairs
                for queue_id in there.queue_ids
            ],
            "target", counted=False, link=link, now=now,
        )  # fmt: skip
        work.commit()
    return [(one.message_id, there.message_id) for one, there in pairs]


def take(
    source: str = "orders",
    limit: int = 1,
    *,
    now: datetime = NOON,
    link: str = LINK,
    **fields: Any,
) -> list[int]:
    """Take some away to a provider elsewhere, or to nowhere; their numbers."""
    entry = {"outcome": Outcome.TRANSFERRED, "latency_ms": 250, **fields}
    with transaction.atomic():
        work = UnitOfWork(actor=f"link {link}", now=now)
        got = work.get(source, limit)
        entries = [TransferEntry(one.queue_id, one.message_id, **entry) for one in got]
        tell(entries, "source", link=link, now=now)
        work.commit()
    return [one.message_id for one in got]


def bring(
    target: str = "shipped",
    *,
    now: datetime = NOON,
    link: str = LINK,
    role: str = "target",
    **fields: Any,
) -> int:
    """Put one that came from elsewhere, or a dead one; its number."""
    entry = {"outcome": Outcome.TRANSFERRED, "other": "ID:there", **fields}
    with transaction.atomic():
        (put,) = put_many([NewMessage(target, b"x")], actor=f"link {link}", now=now)
        entries = [TransferEntry(one, put.message_id, **entry) for one in put.queue_ids]
        tell(entries, role, link=link, now=now)
    return put.message_id


def tell(
    entries: list[TransferEntry],
    role: str,
    *,
    link: str = LINK,
    counted: bool = True,
    now: datetime | None = NOON,
) -> None:
    told = [replace(one, role=Role(role), counted=counted) for one in entries]
    note(told, link_id=7, link=link, now=now)


def old(message_id: int) -> str:
    """JMSMessageID at the source."""
    return f"ID:orders-{message_id}"


def new(one: Any) -> str:
    """JMSMessageID at the target."""
    return f"ID:shipped-{one.message_id}"


def id_of(queue: str) -> int:
    return Queue.objects.get(name=queue).pk
