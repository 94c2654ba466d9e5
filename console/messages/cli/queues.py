"""The work of ``put``, ``get``, ``browse`` and ``find``; nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from broker.acts.declaring import name_in_journal
from broker.models import Place, Queue
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from broker.queueing import browse as looking
from broker.queueing.get import Delivery
from broker.queueing.put import put as send
from broker.security import audit, authorities, redaction
from broker.security.users import User
from broker.settlement.outcomes import Accept
from broker.transactions import leases
from console.edges import masking, numbers
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.messages import documents
from console.messages.documents import PLACES
from dashboards.live import depths

LEASE = timedelta(minutes=1)  # far longer than one transaction takes


def queues(user: User | None) -> list[dict[str, Any]]:
    actors.require(user, "broker.view_queue")
    return [
        {
            "queue": one.name,
            "ready": one.ready,
            "in_flight": one.claimed,
            "delayed": one.delayed,
            "paused": one.paused,
            "dead_letters": one.takes_dead_letters,
        }
        for one in depths.queues(user=user)
    ]


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


def browse(  # noqa: PLR0913  # the subcommand's options
    user: User | None,
    queue: str,
    place: str,
    after: str,
    limit: int,
    *,
    whole: bool,
    why: str = "",
) -> list[dict[str, Any]]:
    """A page of the entries in one state on a queue."""
    if place not in PLACES:
        raise CommandError(f"There is no place {place}.", returncode=USAGE)
    actors.require(user, "broker.browse_queue" if whole else "broker.view_queue")
    found = actors.queue(user, queue, "browse" if whole else "inquire")
    try:
        entries = looking.browse(found.pk, PLACES[place], after=after, limit=limit)
    except ValueError as error:
        raise CommandError(f"--after: {error}", returncode=USAGE) from None
    if whole:
        return whole_of(user, found, entries, why)
    return numbers.numbered(
        [documents.brief(one) | {"after": one.cursor} for one in entries]
    )


def find(user: User | None, filters: Sequence[str], limit: int) -> list[dict[str, Any]]:
    actors.require(user, "broker.view_queue")
    search = visible_search.search(user, filters)
    page = finding.find(search.filter, within=search.within, limit=limit)
    shown = ("message_id", "number", "state", "priority", "tries", "put_at", "error")
    return [
        {"queue": search.within[one.queue_id]}
        | {name: getattr(one, name) for name in shown}
        | {
            field.name: getattr(one, field.name)
            for field in fields(one)
            if field.name not in (*shown, "queue_id")
        }
        for one in page.rows
    ]


def on_queue(name: str) -> str:
    """The filter for all messages of one queue, whatever its name."""
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'queue:"{text}"'
