"""Edits of copies: fields in which a copy differs from its original; and previews.

The copy is made first, then edited in the same transaction. No other transaction can
have seen the copy before, so no visible message ever changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.db.models import DateTimeField, Func

from broker import sql
from broker.formats import lossless_json
from broker.formats.patches import Repair
from broker.models import DeadLetter, Kind, Message, Queue
from broker.queueing.provenance import Hop, resubmits, without_body
from broker.queueing.store import REPAIRED, NewMessage

if TYPE_CHECKING:
    from broker.queueing.transfer import Record, TakenEntry

Repairs = Mapping[int, Repair]  # edits by message id
NONE: Repairs = MappingProxyType({})


def repair(originals: Mapping[int, int], repairs: Repairs) -> None:
    """Apply edits to copies.

    Args:
        originals: id of the original message, by id of the copy.
        repairs: edits by id of the original; a copy without an edit is not changed.
    """
    ids = [copy for copy, original in originals.items() if original in repairs]
    if not ids:
        return
    wanted = [repairs[originals[copy]] for copy in ids]
    sql.fetch_one(
        "repair",
        ids=ids,
        bodies=[one.body for one in wanted],
        columns=[json.dumps(one.columns) for one in wanted],
        added=[lossless_json.dumps(one.properties) for one in wanted],
        gone=[json.dumps(one.properties_gone) for one in wanted],
        repaired=REPAIRED,
    )


def apply_edits(rows: Mapping[int, Message], repairs: Repairs) -> None:
    """Apply edits to messages in memory, for a preview of their copies."""
    for message_id in rows.keys() & repairs.keys():
        row, wanted = rows[message_id], repairs[message_id]
        for column, value in wanted.columns.items():
            setattr(row, column, value)
        row.properties = {
            name: value
            for name, value in row.properties.items()
            if name not in wanted.properties_gone
        } | plain(wanted.properties)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """A value in which the exact numbers of ``lossless_json`` are plain Python
    numbers."""
    found: dict[str, Any] = json.loads(lossless_json.dumps(dict(values)))
    return found


def preview(
    entries: Sequence[TakenEntry],
    record: Record,
    cause: DeadLetter.Cause | None,
    repairs: Repairs,
    lifetime: timedelta | None,
    *,
    as_ibm: bool,
) -> list[NewMessage]:
    """The future copies without their bodies, to evaluate selectors."""
    queues = Queue.objects.filter(pk__in={entry.queue_id for entry in entries})
    names = dict(queues.values_list("pk", "name"))
    clock = Func(function="statement_timestamp", output_field=DateTimeField())
    messages = Message.objects.defer("body", "headers").annotate(read_at=clock)
    rows = messages.in_bulk({entry.id for entry in entries})
    apply_edits(rows, repairs)
    at = record.now or next(iter(rows.values())).read_at
    expires_at = None if lifetime is None else at + lifetime
    copies = []
    for entry in entries:
        row = rows[entry.id]
        hop = Hop(
            address=row.address,
            queue=names.get(entry.queue_id),
            message_id=entry.id,
            routing_type=row.routing_type,
            at=at,
            cause=cause,
            backout_count=entry.backout_count,
            error=str(record.detail.get("error", "")),
        )
        told = row.properties if as_ibm else hop.properties_after(row.properties)
        told = told | resubmits(row.properties, more=record.kind == Kind.RESUBMIT)
        until = row.expires_at if as_ibm else expires_at
        copies.append(
            without_body(row, told, priority=entry.priority, expires_at=until)
        )
    return copies
