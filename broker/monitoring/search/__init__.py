"""Finding messages by a filter, wherever they are: lists, counts and plans.

    Filter ── scopes ──▶ where to look: queues, places, numbers of messages
          └── conditions ──▶ what to ask of each entry, as SQL
                 walking ──▶ looks of bounded cost, by cursor, never by offset
                   pages ──▶ a list, a count, the keys for a plan
                 tallies ──▶ the values that a key has, for completion

Looking changes nothing: no row, no order, no count, and takes no lock.

The states of an entry are apart from each other: a dead letter is *dead* while it lies
ready, and what is in the discard bin is *discarded*, if its queue is still there. What
has ended otherwise is on no list; its own page knows it. What only dead letters have,
such as an error, finds only them.
"""

from __future__ import annotations

from broker.monitoring.search.pages import (
    Count,
    Effort,
    Found,
    SearchPage,
    count,
    find,
    keys,
)
from broker.monitoring.search.scopes import states_of
from broker.monitoring.search.tallies import values
from broker.monitoring.search.walking import PATIENCE, patiently

__all__ = [
    "PATIENCE",
    "Count",
    "Effort",
    "Found",
    "SearchPage",
    "count",
    "find",
    "keys",
    "patiently",
    "states_of",
    "values",
]
