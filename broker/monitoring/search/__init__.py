"""Search for messages by a filter, in all states: lists, counts and keys for plans.

    Filter ── scopes ──▶ where to search: queues, states, ranges of message numbers
          └── conditions ──▶ the condition on each entry, as SQL
                 walking ──▶ steps of bounded cost, by cursor, never by offset
                   pages ──▶ a list, a count, the keys for a plan
                 tallies ──▶ the values of a key, for completion

A search reads only, and takes no lock.

An entry has exactly one state. A ready dead letter is *dead*, not *ready*. An entry in
the discard bin is *discarded*, if its queue still exists. A message with another
outcome is on no list; it has only its own page. A term on what only dead letters have,
such as an error, finds only dead letters.
"""

from __future__ import annotations

from broker.monitoring.search.pages import (
    Count,
    Effort,
    Found,
    Reach,
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
    "Reach",
    "SearchPage",
    "count",
    "find",
    "keys",
    "patiently",
    "states_of",
    "values",
]
