"""What processes that have died left in the database."""

from __future__ import annotations

from collections.abc import Sequence

from broker import sql
from broker.models import (
    ClientConnection,
    ClientEndpoint,
    ConnectionConsumer,
    Owner,
    UnitOfWork,
)
from broker.queueing.processes import LOCK_CLASS


def ids() -> list[int]:
    """The ids of the processes whose locks nobody holds."""
    return sql.fetch("dead_owners", int, lock_class=LOCK_CLASS)


def units_of(owner_ids: Sequence[int], kind: str) -> set[int]:
    """The units of work of the given owners that are of this kind."""
    owners = Owner.objects.filter(pk__in=owner_ids, kind=kind).values("pk")
    found = UnitOfWork.objects.filter(owner_id__in=owners)
    return set(found.values_list("pk", flat=True))


def forget(owner_ids: Sequence[int]) -> None:
    """Remove the rows of dead owners that hold no unit of work any more."""
    ConnectionConsumer.objects.filter(owner_id__in=owner_ids).delete()
    ClientEndpoint.objects.filter(connection__owner_id__in=owner_ids).delete()
    ClientConnection.objects.filter(owner_id__in=owner_ids).delete()
    Owner.objects.filter(pk__in=owner_ids).delete()
