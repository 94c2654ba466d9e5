"""Prepared units of work, with the queues that their end changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from django.db.models import Q

from broker.models import Claim, PreparedPut, Queue
from broker.security import authorities
from broker.transactions.prepared import PreparedUnitOfWork, prepared

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A unit of work that waits for its coordinator, with its queues and addresses."""

    work: PreparedUnitOfWork
    got: list[str]  # queues of its entries; an empty name for a deleted queue
    to: list[str]  # addresses that it sends to
    queues: frozenset[str]  # names of all queues that the end of the unit changes
    may_decide: bool


def waiting(held: authorities.GrantedAuthorities) -> list[PreparedRow]:
    """Waiting units of work whose queues the user may all inquire, the oldest first.

    Four queries."""
    works = prepared()
    if not works:
        return []
    uows = [work.uow for work in works]
    claims = Claim.objects.filter(uow__in=uows)
    puts = PreparedPut.objects.filter(uow__in=uows, fields__has_key="address")
    got = grouped(claims.values_list("uow", "queue_id").distinct())
    to = grouped(puts.values_list("uow", "fields__address").distinct())
    names, fed = named(chain(*got.values()), chain(*to.values()))
    found = []
    for work in works:
        taken = sorted(names.get(pk, "") for pk in got[work.uow])
        sent = sorted(to[work.uow])
        queues = {one for address in sent for one in fed.get(address) or [address]}
        queues |= {name for name in taken if name}
        if all(held.on("inquire", name) for name in queues):
            may = all(held.on("set", name) for name in queues)
            found.append(PreparedRow(work, taken, sent, frozenset(queues), may))
    return found


def named(
    queue_ids: Iterable[int], addresses: Iterable[str]
) -> tuple[dict[int, str], dict[str, set[str]]]:
    """The names of queues, and of the queues that addresses feed."""
    chosen = Q(pk__in=set(queue_ids)) | Q(address__name__in=set(addresses))
    rows = list(Queue.objects.filter(chosen).values_list("pk", "name", "address__name"))
    return (
        {pk: name for pk, name, _ in rows},
        grouped((address, name) for _, name, address in rows),
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, set[Value]]:
    result: dict[Key, set[Value]] = defaultdict(set)
    for key, value in pairs:
        result[key].add(value)
    return result
