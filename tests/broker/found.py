"""What filters should find: a scene with messages in every state, and a filter decided
one message at a time, in Python."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from broker.formats.filters import Filter, Term, paths
from broker.formats.filters.values import (
    Alternative,
    Between,
    Compared,
    Is,
    Moment,
    Text,
)
from broker.models import (
    Claim,
    DeadLetter,
    Delayed,
    Discarded,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.queueing.put import put
from broker.settlement.poison import Removing
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out
from tests.make import NOON, make_queue, make_setting, minutes

NOW = NOON + minutes(60)


def make_scene() -> None:
    """Some of everything, put from noon on, a minute apart."""
    make_queue("DLQ", address="DLA")
    make_queue("BOQ")
    make_queue("orders")
    make_queue("orders.late")
    make_queue("poisonous", backout_threshold=1, backout_queue="BOQ")
    make_queue("lossy")
    for name in ("news.one", "news.two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    make_setting("lossy", max_delivery_attempts=1)
    for number, fields in enumerate(LETTERS):
        put("orders", now=NOON + minutes(number), **fields)
        back_out("orders", error=ERRORS[number], at=number + 0.5)
    put("poisonous", b"an old one", now=NOON + minutes(3), subject="poison")
    back_out("poisonous", error="poisonous", at=4)
    for number, fields in enumerate(MESSAGES):
        put(**{"address": "orders"} | fields, now=NOON + minutes(5 + number))
    put("lossy", b"thrown away", now=NOON + minutes(20), subject="lost")
    back_out("lossy", error="thrown", at=21)
    put("orders.late", b"held", now=NOON + minutes(22), priority=9)
    UnitOfWork(now=NOON + minutes(23)).get("orders.late")
    back_out("orders", limit=1, error="none", at=24)  # the highest priority dies, too
    work = UnitOfWork(now=NOON + minutes(30))
    (poison,) = work.get("poisonous")
    work.remove(Removing(poison, "BOQ"))
    work.commit()
    put("news", b"the last", now=NOON + minutes(40))


ERRORS = ["ValueError: row 7 is bad", "no 100% of A_B", "back\\slash", "Zeile für Ä"]
LETTERS: list[dict[str, Any]] = [
    {"body": b"{}", "subject": "order", "properties": {"tenant": "t7", "n": 7}},
    {"body": b'{"a": 1}', "message_id": "ID:1", "properties": {"tenant": "t8"}},
    {"body": b"\xff\x00\xfe", "correlation_id": "row", "properties": {"n": "7"}},
    {"body": b"needle in a haystack", "producer": "shop'; DROP TABLE x; --"},
]
MESSAGES: list[dict[str, Any]] = [
    {"body": b"x" * 2000, "subject": "order", "properties": {"tenant": "t7"}},
    {"body": b"x" * 70_000 + b"needle", "properties": {"n": 7.5, "list": ["t7"]}},
    {"body": b"a%b_c\\d", "properties": {"urgent": True, "a b.c": "x"}},
    {"body": "für".encode(), "properties": {"urgent": "true", "n": -3}},
    {"priority": 9, "content_type": "application/json", "group_id": "g1"},
    {"priority": 0, "expires_at": NOON + minutes(600), "subject": "a*b"},
    {"address": "orders.late", "deliver_at": NOON + minutes(90), "subject": "late"},
    {"address": "news", "message_id": "ID:a:b", "properties": {"tenant": None, "n": 7}},
    {
        "body": b'{"customer": {"id": 4711, "name": "M\\u00fcller"}, "ok": true,'
        b' "items": [{"n": 2, "sku": "A-1"}, {"n": 3, "sku": "B"}]}'
    },
    {
        "body": b'\xef\xbb\xbf{"customer": {"id": "4711"}, "ok": "true", "a.b": "x",'
        b' "amount": 1e3, "items": [["x", null]], "0": "y"}'
    },
    {"body": b'{"customer": null, "amount": 99.50, "items": [], "a": "1"}'},
    {"body": b'{"customer": {"id": 4711, "name": "M'},  # cut off
    {"body": b'{"customer": {"id": 4711}, "x": "\xff"}'},  # not UTF-8
    {"body": b'{"customer": {"id": 4711}, "x": "\\u0000"}'},  # PostgreSQL has no such
]

FRAGMENTS = [
    *("state:ready", "state:dead", "state:delayed", "state:in-flight"),
    *("state:discarded", "state:dead,ready", "state:dead,delayed,in-flight"),
    *(
        "queue:orders",
        "queue:orders*",
        "queue:news.*",
        "queue:DLQ,BOQ",
        "queue:nowhere",
    ),
    *("queue:*", 'queue:"orders*"', "address:orders", "address:new*", "priority:9"),
    *("priority:>4", "priority:<4", "priority:0..4", "priority:<=3,9", "tries:0"),
    *("tries:>=1", "size:>1kB", "size:2..8", "size:0", "at:>2026-03-14T12:20Z"),
    *(
        "at:2026-03-14T12:00Z..12:03",
        "at:2026-03-14",
        "at:<2026-03-14",
        "at:..2026-03-14T12:01",
    ),
    *("at:2026-03-14T12:03Z,2026-03-14T12:40Z", "at:<=2026-03-14T12:05Z", "age:>50m"),
    *("age:<=20m", "age:25m..58m", "due:2026-03-14T13:30Z", "due:>2026-03-15"),
    *("expires:2026-03-14", "expires:>2026-03-15", "died:<2026-03-14T12:02Z"),
    *("died:2026-03-14", "cause:max-delivery-attempts", "cause:backout-threshold"),
    *("cause:expired,backout-threshold", "error:ROW", "error:row*bad", "error:100%"),
    *("error:A_B", "error:AxB", r'error:"back\\slash"', "error:für", "error:7,none"),
    *("origin:orders", "origin:pois*", "resubmits:0", "resubmits:>0", "type:order"),
    *("type:ord*", "type:*r", 'type:"a*b"', "type:a*b", "message-id:ID*", "group:g1"),
    *('message-id:"ID:a:b"', "correlation:row", "content:application/json"),
    *("content:*json", "producer:shop*", "producer:*;*--", "body:needle"),
    *("body:hay*in", "body:need*hay", "body:a%b", "body:x*needle", "body:für"),
    *("h.tenant:t7", "h.tenant:t7,t8", "h.tenant:t*", "h.n:7", "h.n:7.0", "h.n:>7"),
    *("h.n:-3..7", "h.n:<=7.5", "h.urgent:true", 'h."a b.c":x', "h.list:t7", "h.n:*"),
    *("body.customer.id:4711", "body.customer.id:4711.0", "body.customer.id:>4000"),
    *("body.customer.id:47*", "body.customer.name:Müller", "body.customer.name:M*r"),
    *("body.items.0.sku:A-1", "body.items.1.sku:A-1", "body.items[].sku:A-1,B"),
    *("body.items[].n:>=3", "body.items.-1.n:3", "body.items[][]:x", "body.0:y"),
    *("body.ok:true", 'body."a.b":x', "body.amount:1000", "body.amount:<100,1000.0"),
    *("body.a:1", "body.customer:*", "body.items[]:*", "body.nothing:*"),
    *("h.tenant:null", "row", "order", '"ID:1"', "late", "nowhere", "fingerprint:x*"),
]


@dataclass(frozen=True)
class Known:
    """One entry, and all that can be asked of it."""

    message_id: int
    queue_id: int
    state: str
    values: dict[str, Any]
    properties: dict[str, Any]
    body: bytes


def every_entry() -> list[Known]:
    names = dict(Queue.objects.values_list("pk", "name"))
    rows: list[tuple[str, int, int, Any, datetime | None]] = [
        ("ready", one.id, one.queue_id, one, None) for one in Ready.objects.all()
    ]
    rows += [
        ("delayed", one.id, one.queue_id, one, one.due_at)
        for one in Delayed.objects.all()
    ]
    rows += [
        ("discarded", one.message_id, one.queue_id, one, None)
        for one in Discarded.objects.all()
    ]
    for claim in Claim.objects.all():
        held = zip(claim.priorities, claim.backout_counts, claim.expiries, strict=True)
        rows += [
            ("in-flight", pk, claim.queue_id, as_taken(*one), None)
            for pk, one in zip(claim.ids, held, strict=True)
        ]
    return sorted(
        (known(*row, queue=names[row[2]]) for row in rows),
        key=lambda one: (one.message_id, one.queue_id),
        reverse=True,
    )


def as_taken(priority: int, backout_count: int, expires_at: datetime | None) -> Ready:
    return Ready(priority=priority, backout_count=backout_count, expires_at=expires_at)


def known(
    state: str,
    message_id: int,
    queue_id: int,
    entry: Ready | Delayed | Discarded,
    due_at: datetime | None,
    *,
    queue: str,
) -> Known:
    message = Message.objects.get(pk=message_id)
    values = {
        "queue": queue,
        "id": original_of(message_id),
        "priority": entry.priority,
        "tries": entry.backout_count,
        "expires": entry.expires_at,
        "due": due_at,
        "address": message.address,
        "message-id": message.message_id,
        "correlation": message.correlation_id,
        "type": message.subject,
        "group": message.group_id,
        "content": message.content_type,
        "producer": message.producer,
        "size": len(message.body),
        "at": message.put_at,
        "age": NOW - message.put_at,
    }
    letters = DeadLetter.objects.filter(message_id=message_id, queue_id=queue_id)
    if state == "ready" and (letter := letters.first()):
        state = "dead"
        values |= {
            "tries": letter.backout_count,
            "died": letter.died_at,
            "cause": letter.cause.lower().replace("_", "-"),
            "error": letter.error,
            "fingerprint": letter.fingerprint,
            "origin": letter.origin_queue,
            "resubmits": letter.resubmit_count,
        }
    values["state"] = state
    body = bytes(message.body)
    return Known(message_id, queue_id, state, values, message.properties, body)


def original_of(message_id: int) -> int:
    """The first original of a copy; the id itself if it is no copy."""
    (before,) = Message.objects.filter(pk=message_id).values_list("copied_from")[0]
    return original_of(before) if before else message_id


def meets(one: Known, wanted: Filter) -> bool:
    return all(is_met(one, term) for term in wanted.terms)


def is_met(one: Known, term: Term) -> bool:
    return term.is_negated != any(has(one, term, value) for value in term.alternatives)


def has(one: Known, term: Term, asked: Alternative) -> bool:
    key = term.key.name
    if key in ("h", "path"):
        values = [one.properties.get(term.name)]
        if key == "path":
            values = values_at(one.body, paths.read(term.name))
        return any(has_property(value, asked) for value in values)
    if key == "body":
        return within(asked, one.body[: 64 * 2**10].decode("latin-1"), "latin-1")
    if key == "error":
        return within(asked, one.values.get("error", "").lower())
    if key == "":
        texts = [one.values.get("error"), one.values["type"]]
        ids = [one.values["message-id"], one.values["correlation"]]
        return any(within(asked, text.lower()) for text in texts if text) or any(
            alike(asked, text) for text in ids if text
        )
    if key == "id" and isinstance(asked, Is) and isinstance(asked.value, int):
        asked = Is(original_of(asked.value))
    value = one.values.get(key)
    return value is not None and measures(value, asked)


def values_at(body: bytes, steps: paths.Steps) -> list[Any]:
    if b"\\u0000" in body:
        return []
    try:
        found = [json.loads(body.decode("utf-8-sig"))]
    except ValueError:
        return []
    for step in steps:
        found = [value for one in found for value in after(one, step)]
    return found


def after(value: Any, step: str | None) -> list[Any]:
    """The values to which a step leads."""
    if isinstance(value, dict) and step is not None:
        return [value[step]] if step in value else []
    if not isinstance(value, list):
        return []
    if step is None:
        return value
    is_number = re.fullmatch("-?[0-9]+", step)
    at = int(step) if is_number else len(value)
    return [value[at]] if -len(value) <= at < len(value) else []


def has_property(value: Any, asked: Alternative) -> bool:
    if value is None or isinstance(value, list):
        return isinstance(value, list) and alike(asked, json.dumps(value))
    if not isinstance(asked, Is):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and measures(value, asked)
    said = str(asked.value)
    if not isinstance(value, str | bool) and re.fullmatch(r'"?-?[\d.]+"?', said):
        return bool(float(said.strip('"')) == value)
    text = value if isinstance(value, str) else json.dumps(value)
    return alike(asked, text)


def alike(asked: Alternative, text: str) -> bool:
    assert isinstance(asked, Is)
    assert isinstance(asked.value, Text)
    return asked.value.matches(text)


def within(asked: Alternative, text: str, encoding: str = "") -> bool:
    assert isinstance(asked, Is)
    assert isinstance(asked.value, Text)
    parts = [
        part.encode().decode(encoding) if encoding else part.lower()
        for part in asked.value.parts
    ]
    return re.search(".*".join(map(re.escape, parts)), text, re.S) is not None


def measures(value: Any, asked: Alternative) -> bool:
    match asked:
        case Is(Text() as text):
            return text.matches(value)
        case Is(Moment() as moment):
            return bool(moment.start <= value < moment.end)
        case Is(other):
            return bool(value == other)
        case Between(low, high):
            return measures(value, Compared(">=", low)) and measures(
                value, Compared("<=", high)
            )
    end: Any = asked.value
    if isinstance(end, Moment):
        end = (
            end.end - timedelta(microseconds=1)
            if asked.operator in (">", "<=")
            else end.start
        )
    return bool(
        {
            "<": value < end,
            "<=": value <= end,
            ">": value > end,
            ">=": value >= end,
        }[asked.operator]
    )
