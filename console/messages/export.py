"""Search results as a file: lines of JSON, or CSV.

The file is streamed page by page, so memory is bounded. It is not a snapshot: messages
that move meanwhile may be missing. No message is in it twice.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from broker.formats.mq.coding import Coding, coding_in
from broker.models import Message
from broker.monitoring import search as finding
from broker.monitoring.search import Found
from broker.monitoring.visible_search import Search
from broker.security import audit
from broker.security.redaction import Sight
from broker.sql import database_now
from console.edges import masking
from console.messages.documents import written
from dashboards.pages.csv_safety import CsvSink, harmless
from dashboards.pages.streaming import streamed

PAGE = 500  # messages in memory at once
LONGEST_BODY = 2**20  # bytes; a longer body is left out, and its row says why
LONGEST_PARCEL = 4 * 2**20  # bytes of bodies in memory at once
NAMES = ["queue" if field.name == "queue_id" else field.name for field in fields(Found)]
TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


def export(
    request: HttpRequest, search: Search, format_: str, *, bodies: bool, why: str = ""
) -> StreamingHttpResponse:
    """A file with all matching messages.

    Args:
        request: the request.
        search: the search; with bodies, limited to queues that may be browsed.
        format_: one of ``TYPES``.
        bodies: whether to include bodies and properties; JSON only.
        why: reason for unmasking; empty to keep the masks.

    Raises:
        SearchTooLong: the database took too long for the first page.
    """
    now = database_now()
    on = audit.Thing("export", name=str(search.filter))
    sight = masking.sight_for(request.user, why, on, bodies=True) if bodies else None
    first = finding.find(search.filter, within=search.within, limit=PAGE, now=now)
    pages = pages_from(first, search, now)
    chunks = table(pages) if format_ == "csv" else lines(pages, sight)
    name = f"messages-{now.astimezone(UTC):%Y-%m-%dT%H%MZ}.{format_}"
    return streamed(
        request,
        chunks,
        {
            "Cache-Control": "private, no-store",
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Content-Type": TYPES[format_],
            "X-Content-Type-Options": "nosniff",
        },
    )


Rows = list[dict[str, Any]]


def pages_from(
    page: finding.SearchPage, search: Search, now: datetime
) -> Iterator[Rows]:
    yield [search.facts_of(one) for one in page.rows]
    while page.after:
        page = finding.find(
            search.filter, within=search.within, after=page.after, limit=PAGE, now=now
        )
        yield [search.facts_of(one) for one in page.rows]


def table(pages: Iterator[Rows]) -> Iterator[bytes]:
    """CSV. A text that a spreadsheet would read as a formula gets a leading quote."""
    written: list[str] = []
    writer = csv.writer(CsvSink(written.append))
    writer.writerow(NAMES)
    for rows in pages:
        for row in rows:
            writer.writerow([cell(row[name]) for name in NAMES])
        yield "".join(written).encode()
        written.clear()


def cell(value: Any) -> str | int:
    if value is None:
        return ""
    if isinstance(value, int):
        return value
    text = moment(value) if isinstance(value, datetime) else str(value)
    return str(harmless(text))


def lines(pages: Iterator[Rows], sight: Sight | None) -> Iterator[bytes]:
    """One JSON object per line; bodies are masked for the user."""
    for rows in pages:
        if sight is None:
            yield b"".join(map(line, rows))
            continue
        for parcel in in_parcels(rows):
            yield b"".join(map(line, with_payloads(parcel, sight)))


def line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, default=moment).encode() + b"\n"


def in_parcels(rows: Rows) -> Iterator[Rows]:
    """Rows in parts whose bodies fit into memory at once."""
    parcel: Rows = []
    size = 0
    for row in rows:
        size += body_size(row)
        if parcel and size > LONGEST_PARCEL:
            yield parcel
            parcel, size = [], body_size(row)
        parcel.append(row)
    yield parcel


def body_size(row: dict[str, Any]) -> int:
    """The size of a body to include; zero if it is too long."""
    size: int = row["size_bytes"] or 0
    return size if size <= LONGEST_BODY else 0


def with_payloads(rows: Rows, sight: Sight) -> Iterator[dict[str, Any]]:
    """Rows with properties and bodies. Two queries, and some more if there are
    redaction rules.
    """
    ids = [row["message_id"] for row in rows]
    short = [
        row["message_id"] for row in rows if (row["size_bytes"] or 0) <= LONGEST_BODY
    ]
    about = Message.objects.filter(pk__in=ids).values_list("pk", "properties")
    properties = dict(about)
    fields = ("body", "content_type", "descriptor", "headers")
    bodies = Message.objects.only(*fields).in_bulk(short)
    veils = sight.veils(ids)
    for row in rows:
        pk = row["message_id"]
        told, hidden = veils[pk].properties(properties.get(pk) or {})
        payload: dict[str, Any] = {"properties": told if pk in properties else None}
        if pk in bodies:
            one = bodies[pk]
            coding = coding_in(one)
            seen = veils[pk].body(bytes(one.body), one.content_type, coding)
            by = list(dict.fromkeys([*seen.by, *hidden]))
            payload |= {"masked_by": by} if by else {}
            declared = ("", None) if seen.is_withheld else (one.content_type, coding)
            yield row | payload | as_text(seen.body, *declared)
        else:
            why = "gone" if pk in short else f"longer than {LONGEST_BODY} bytes"
            yield row | payload | {"body": None, "body_left_out": why}


def as_text(body: bytes, content_type: str, coding: Coding | None) -> dict[str, str]:
    """Text in any character set that its message names; other bytes in base64."""
    found = written(body, content_type, coding)
    return {"body" if found.encoding == "text" else "body_base64": found.body}


def moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ndjson_or_csv(said: str, formats: Sequence[str] = tuple(TYPES)) -> str:
    """The requested format; lines of JSON by default."""
    return said if said in formats else "ndjson"
