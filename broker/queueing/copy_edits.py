"""Edits of copies: fields in which a copy differs from its original.

The copy is made first, then edited in the same transaction. No other transaction can
have seen the copy before, so no visible message ever changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from broker import sql
from broker.formats import lossless_json
from broker.formats.patches import Repair
from broker.models import Message
from broker.queueing.store import REPAIRED

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
