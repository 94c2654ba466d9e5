"""How long messages that have ended stay readable, by the settings of their addresses.

By default ``sql.partitions`` drops them, about a million at a time. An address whose
setting ``message_retention_s`` is shorter has its messages deleted singly: a reader of
the journal follows the events at that distance, and deletes what ended. Messages of a
longer setting are kept when their partition is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from broker import sql
from broker.config.address_settings import merge
from broker.models import AddressSetting, Operation, OperationItem, Watermark
from broker.settlement.discards import forget
from broker.sql.fencing import short_transaction

# Prefix of names of readers of the journal; the retention in seconds follows it.
READER = "retention "
START = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
# Limit of the retention: with a longer one, its start could be before any valid date.
CENTURY_S = 100 * 366 * 86_400
ROUND_S = 1.0  # how long one round takes, at most about


class Retentions:
    """The settings, as they are now. Two queries at most, and none for an address."""

    def __init__(self) -> None:
        self.settings = list(AddressSetting.objects.all())
        self.default_s = settings.BROKER_MESSAGE_RETENTION_DAYS * 86_400
        self.of = cache(self.find)

    def find(self, address: str) -> int:
        """The retention of an address in seconds."""
        own = merge(address, self.settings).message_retention_s
        return self.default_s if own is None else own

    def defined(self) -> set[int]:
        return {
            one.message_retention_s
            for one in self.settings
            if one.message_retention_s is not None
        }

    @property
    def shorter(self) -> list[int]:
        """The retentions below that of the broker, the shortest first."""
        return sorted(one for one in self.defined() if one < self.default_s)

    @property
    def has_longer(self) -> bool:
        return any(one > self.default_s for one in self.defined())

    def retained_since(self, address: str, now: datetime) -> datetime | None:
        """When a message must have been put to be kept longer than by default; None:
        none is."""
        retention_s = self.of(address)
        if retention_s <= self.default_s:
            return None
        return now - timedelta(seconds=min(retention_s, CENTURY_S))


def delete_ended(*, now: datetime | None = None) -> int:
    """Delete ended messages past a shorter retention; return their number.

    Works in small transactions for ``ROUND_S``, and goes on at its next call. A message
    that is still on another queue, in the discard bin or needed for an undo stays, and
    goes with its partition or when it ends there, too.
    """
    found = Retentions()
    register(found.shorter)
    ends, deleted = time.monotonic() + ROUND_S, 0
    for retention_s in found.shorter:
        while time.monotonic() < ends:
            count = step(retention_s, found, now)
            if count is None:
                break
            deleted += count
    return deleted


@transaction.atomic
def register(retentions_s: list[int]) -> None:
    """Have one reader for each retention, and no others: a reader keeps the journal.

    A new one begins where the last of the others is, or else now.
    """
    names = {f"{READER}{one}" for one in retentions_s}
    readers = Watermark.objects.filter(reader__startswith=READER)
    known = dict(readers.values_list("reader", "xid"))
    if names == set(known):
        return
    start = min(known.values(), default=None)
    if start is None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {START}")
            (start,) = cursor.fetchone()
    new = [Watermark(reader=name, xid=start) for name in names - set(known)]
    Watermark.objects.bulk_create(new, ignore_conflicts=True)
    readers.exclude(reader__in=names).delete()


@short_transaction()
def step(
    retention_s: int, retentions: Retentions, now: datetime | None = None
) -> int | None:
    """Read one window of the journal; return how many messages were deleted.

    None: nothing more has ended so long ago, or another process reads.
    """
    windows = sql.run(
        "ended",
        {
            "reader": f"{READER}{retention_s}",
            "retention_s": retention_s,
            "now": now,
        },
    )
    if not windows:
        return None
    ids = [
        one
        for address, some in windows
        if address is not None and retentions.of(address) <= retention_s
        for one in some
    ]
    kept = set(undoable(ids)) if ids else set()
    return forget([one for one in ids if one not in kept])


def undoable(ids: list[int]) -> Iterator[int]:
    """The given ids whose message an undo may need."""
    window = timedelta(seconds=settings.BROKER_UNDO_WINDOW_S)
    recent = Operation.objects.filter(
        Q(ended_at__gt=Now() - window) | Q(ended_at=None, started_at__isnull=False)
    )
    operations = list(recent.values_list("pk", flat=True))
    if operations:
        items = OperationItem.objects.filter(
            operation__in=operations, message_id__in=ids
        )
        yield from items.values_list("message_id", flat=True)
