"""The work of ``put`` and ``get``; nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction

from broker.acts.declaring import name_in_journal
from broker.models import Place, Queue
from broker.queueing import browse as looking
from broker.queueing.get import Delivery
from broker.queueing.put import put as send
from broker.security import audit, authorities, redaction
from broker.security.users import User
from broker.settlement.outcomes import Accept
from broker.transactions import leases
from console.edges import masking, numbers
from console.edges.commands import actors
from console.messages import documents

LEASE = timedelta(minutes=1)  # far longer than one transaction takes


def put(user: User | None, address: str, body: bytes, **fields: Any) -> dict[str, Any]:
    authorities.require(user, "put", address)
    receipt = send(address, body, producer=name_in_journal(user), **fields)
    names = Queue.objects.filter(pk__in=receipt.queue_ids).order_by("name")
    return {
        "message_id": receipt.message_id,
        "queues": list(names.values_list("name", flat=True)),
    }


def get(
    user: User | None, queue: str, limit: int, *, does: bool, why: str = ""
) -> list[dict[str, Any]]:
    """The next messages, got destructively or browsed. Got messages are printed
    unmasked: nobody can get them again.

    Raises:
        MaskedMessage: the next message is masked for the user.
    """
    found = actors.queue(user, queue, "get")
    entries = looking.browse(found.pk, Place.READY, limit=limit)
    if not does:
        authorities.require(user, "browse", queue)
        return whole_of(user, found, entries, why)
    redaction.require_clear(user, [one.message_id for one in entries])
    told = [documents.message_document(one) for one in taken(user, found, limit)]
    return list(map(brief, numbers.numbered(told)))


def taken(user: User | None, queue: Queue, limit: int) -> list[Delivery]:
    """The next messages, got and accepted as by a client of the API: a poison message
    is moved to its backout queue instead."""
    actor = name_in_journal(user)
    got: list[Delivery] = []
    while len(got) < limit:
        with transaction.atomic():
            lease = leases.take(
                queue, limit=limit - len(got), lease_for=LEASE, actor=actor, user=user
            )
            if lease is None:
                break
            leases.settle(lease.uow, queue.pk, Accept(), actor=actor)
        got += lease.deliveries
    return got


def whole_of(
    user: User | None, queue: Queue, entries: Sequence[looking.Browsed], why: str
) -> list[dict[str, Any]]:
    """Entries of a queue with their bodies, masked for the user."""
    found = looking.whole(queue.pk, entries)
    sight = masking.sight_for(user, why, audit.Thing.of(queue))
    veils = sight.veils(one.message_id for one in found)
    told = [documents.message_document(one, veils[one.message_id]) for one in found]
    return list(map(brief, numbers.numbered(told)))


def brief(told: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message, the most important first."""
    first = ("message_id", "number", "put_at", "content_type", "encoding", "body")
    rest = {name: value for name, value in told.items() if name not in first}
    return {name: told[name] for name in first} | rest


def on_queue(name: str) -> str:
    """The filter for all messages of one queue, whatever its name."""
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'queue:"{text}"'
