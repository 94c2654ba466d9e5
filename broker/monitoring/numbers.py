"""The number of a message, which all its copies share.

A dead letter, a resubmit, a move or a repair makes a copy with an id of its own. The
*number* of a message is the id of its first original. Pages and the API show it, and
accept any id that the message ever had.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker import sql


def public_numbers(message_ids: Iterable[int]) -> dict[int, int]:
    """The number of each message, by id. One query."""
    ids = set(message_ids)
    found = sql.run("originals", {"ids": sorted(ids)}) if ids else []
    return {one: one for one in ids} | dict(found)


def public_number(message_id: int) -> int:
    """The number of a message."""
    return public_numbers([message_id])[message_id]


def copies_of(message_ids: Iterable[int]) -> dict[int, set[int]]:
    """All ids of each message, its original's and its copies', by each given id. One
    query."""
    ids = sorted(set(message_ids))
    found: dict[int, set[int]] = {one: set() for one in ids}
    for one, copy in sql.run("copies", {"ids": ids}) if ids else []:
        found[one].add(copy)
    return found
