"""Counts what a block sends to PostgreSQL, as libpq traces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile

from django.db import connection
from psycopg.pq import Trace

# Each of these messages of the client asks for an answer, for which the client waits.
ASKS = re.compile(rb"^F\t\d+\t(?:Sync|Query)\b", re.MULTILINE)
PARSES = re.compile(rb"^F\t\d+\tParse\b", re.MULTILINE)


@dataclass
class Sent:
    """What a block sent on Django's connection."""

    round_trips: int = 0
    parses: int = 0  # statements that were parsed, and planned, anew


@contextmanager
def counted() -> Iterator[Sent]:
    """Count while the block runs; the connection must stay the same."""
    connection.ensure_connection()
    line = connection.connection.pgconn
    sent = Sent()
    with TemporaryFile() as file:
        line.trace(file.fileno())
        line.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield sent
        finally:
            line.untrace()
        file.seek(0)
        said = file.read()
    sent.round_trips = len(ASKS.findall(said))
    sent.parses = len(PARSES.findall(said))
