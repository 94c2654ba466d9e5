"""Filters: which messages a person wants to see, in one language for lists, counts,
plans and the API.

    text ── parsing ──▶ a Filter: terms, which all have to hold
                           └────▶ ``broker.monitoring.search``, in PostgreSQL

``queue:orders.* state:dead -cause:expired h.tenant:t7,t8 age:>2h "no such row"``

Nothing here knows a table. ``str`` of a filter is its normal form. What the signs mean:

- ``key:a,b`` is one of these, ``-key:a`` is not. A message that does not have the key
  is not what is asked for, and so is found by ``-``.
- ``*`` is any run of characters, also dots: these are no wildcards of addresses. In
  quotes everything is meant as it stands.
- ``>``, ``>=``, ``<``, ``<=``, ``a..b``, ``a..`` and ``..b`` compare numbers and times.
  Both ends of a range are meant. A time is as long as what was left out of it:
  ``2026-05-14`` is the whole day, ``02:00..03:00`` also the minute after three. Without
  an offset it is UTC.
- Names are compared as they stand, words of errors in any case.
- ``h.name`` is a property of the application: ``7`` is the number and the text,
  ``true`` also the truth value; ``>`` and ranges are for numbers.
- ``body.customer.id`` is a value in a body that is JSON, by its path; ``items.0.sku``
  is in the first element, ``items[].sku`` in any. It is compared as a property is.
- A number alone is an id. Other words without a key are looked for in the error and the
  type, and are compared with the sender's id and the correlation id.
"""

from __future__ import annotations

from broker.formats.filters.keys import (
    COPY,
    KEYS,
    PATH,
    PROPERTY,
    WITH_NAMES,
    WORD,
    Key,
    KeyKind,
)
from broker.formats.filters.parsing import parse
from broker.formats.filters.terms import Filter, Term, equal

__all__ = [
    "COPY",
    "KEYS",
    "PATH",
    "PROPERTY",
    "WITH_NAMES",
    "WORD",
    "Filter",
    "Key",
    "KeyKind",
    "Term",
    "equal",
    "parse",
]
