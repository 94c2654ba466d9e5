"""A value for every parameter that any statement has, for plans."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

from broker.bridges.books import Counts
from broker.formats.selectors.documents import made_prefix
from broker.models import Queue
from broker.queueing import processes
from broker.queueing.get import HIGHEST, HIGHS, LOWEST, NEW, PRIORITIES
from tests.make import NOON

LANES = {
    "priorities": PRIORITIES,
    "lows": [low for _ in range(10) for low in (LOWEST, NEW)],
    "highs": HIGHS,
    "near_from": LOWEST,
    "near_to": HIGHEST,
}
ONES_OF_LANES = {
    *("get", "get_each", "browse_ready", "browse_chosen", "choose", "lane_tops"),
    *("fitting", "redeliver", "accept, get"),
}
ONE_MESSAGE = {
    "priorities": [4],
    "routing_types": [None],
    "durables": [True],
    "expiries": [None],
    "dues": [None],
    "content_types": ["text/plain"],
    "producers": [""],
    "message_ids": [None],
    "correlation_ids": [None],
    "reply_tos": [None],
    "subjects": [None],
    "group_ids": [None],
    "properties": ["{}"],
    "bodies": [b"x"],
    "descriptors": [None],
    "headers": [None],
    "envelopes": [None],
}
ITS_VALUES = {
    "priority": 4,
    "routing_type": None,
    "durable": True,
    "expires_at": None,
    "content_type": "text/plain",
    "producer": "",
    "message_id": None,
    "correlation_id": None,
    "reply_to": None,
    "subject": None,
    "group_id": None,
    "properties": "{}",
    "body": b"x",
    "descriptor": None,
    "headers": None,
    "envelope": None,
}
ONE_ENTRY = {
    "queue_ids": [1],
    "ids": [1],
    "backout_counts": [1],
    "delivery_counts": [1],
    "delays_ms": [0],
    "retentions_s": [60],
    "mosts": [10],
    "are_limits": [True],
}
WAITS = {
    "first": 0,
    "span": timedelta(hours=1),
    "patience": timedelta(seconds=10),
    "bounds": [1, 2, 4],
}
SWITCHES = {
    "restore": False,
    "as_ibm": False,
    "though_paused": False,
    "looked": False,
    "pooled": False,
    "in_transaction": False,
    "last_lane": 11,
    "ended_uow": None,
    "ended_uows": [-1000],
    "policy": None,
    "back_out": 4,
    "name": "orders",
    "route": None,
    "most_records": 10,
    "tables": ["broker_ready"],
    "few": 1000,
    "most_skipped": 100,
    "allowed": 2**24,
    "many_dead": 1000,
    "most_live": 1000,
    "row_bytes": 8192,
    "pages": 16,
    "lease_for": timedelta(minutes=1),
    "age": timedelta(seconds=1),
    "puts": 0,
    "reader": "tally",
    "retention_s": 60,
    "asker": "user 1",
    "key": "1",
    "digest": b"x",
    "user_ids": [1],
    "client_message_id": "ID:1",
    "correlation_id": "ID:1",
    "names": ["ID:1"],
    "request_id": None,
}
ONE_SETTLEMENT = {
    "uows": [-1000],
    "lowest": -1000,
    "highest": -1000,
    "firsts": [1],
    "lasts": [1],
    "numbers": [0],
    "accepts": [True],
    "actors": [""],
}
ONE_ENDPOINT = {
    "credits": [1],
    "unsettled": [0],
    "messages": [0],
    "busy": [None],
    "uncommitted": [0],
    "owner_id": 1,
}
ONE_LINK: dict[str, Any] = {
    **{one.name: 0 for one in fields(Counts)},
    "link_id": 1,
    "epoch": 1,
    "places": [1],
    "id_lists": ["{1}"],
    "details": ["{}"],
    "keep": 10,
    "keep_for": timedelta(days=1),
}
ONE_ITEM = {
    "by": "queue",
    "on_queue": 1,
    "ready": True,
    "delayed": True,
    "resubmits": True,
    "notices": [],
    "target": "",
    "after": 0,
    "head_bytes": 4096,
    "size": 172,
    "undoes": 1,
    "source": 1,
    "expired_too": False,
    "delayed_too": True,
    "item_ids": [1],
    "notes": [""],
    "causes": ["MALFORMED"],
    "copies": [None],
    "places": [1],
    "first_id": 1,
    "last_id": 1,
    "status": "planned",
    "first_status": "planned",
    "last_status": "planned",
    "sampled": False,
    "outcomes": [1],
    "chosen": [1],
    "ramped_to": 1,
    "fingerprints": ["f"],
    "hours": 24,
}
ONE_LIMIT = {
    "handler": "17",
    "limit_id": 17,
    "synchronous_commit": None,
    "takes": timedelta(seconds=1),
    "slack": timedelta(seconds=1),
}
ONE_OWNER = {
    "owner_id": 1,
    "owners": [1],
    "owner_kind": "listener",
    "mark": " [backout 1]",
}
ONE_PART = {"fields": ["{}"], "most_bytes": 1000}
ONE_NOTE = {"annotations": "{}", "most": 1000}
ONE_REPAIR = {
    "columns": ["{}"],
    "added": ["{}"],
    "gone": ["[]"],
    "repaired": 2,
}


TASKS = {
    "returning": [-1000],
    "values": ["7"],
    "probe": 3,
    "transactions": 2**40,
    "span": timedelta(hours=1),
    "failures": [4],
}


def parameters(name: str, queue: Queue) -> dict[str, Any]:
    """A value for every parameter that any statement has."""
    common = common_of(queue)
    arrays = (
        LANES
        if name in ONES_OF_LANES
        else ITS_VALUES
        if name == "put_one"
        else ONE_MESSAGE
    )
    known = common | WAITS | SWITCHES | ONE_MESSAGE | ONE_ENTRY | ONE_ITEM
    return (
        known
        | ONE_LINK
        | ONE_SETTLEMENT
        | ONE_ENDPOINT
        | ONE_REPAIR
        | ONE_PART
        | ONE_NOTE
        | ONE_LIMIT
        | ONE_OWNER
        | TASKS
        | {one: LANES[one] for one in ("lows", "near_from", "near_to")}
        | arrays
    )


def common_of(queue: Queue) -> dict[str, Any]:
    return {
        "address": "orders",
        "queue": "orders",
        "queue_id": queue.pk,
        "owner": processes.current(),
        "uow": None,
        "claim_id": 0,
        "limit": 3,
        "expected": 1,
        "id": 0,
        "message_id": 17,
        "before": 10**9,
        "kind": 4,
        "came_from": 2,
        "cause": "EXPIRED",
        "error": "",
        "fingerprint": "f",
        "pattern": "",
        "origin_queue": None,
        "only_queue": None,
        "path": "(1 == 1)",
        "made_prefix": made_prefix(),
        "scan": 100,
        "reason": None,
        "why": "",
        "refusing_ids": [],
        "priority": 4,
        "backout_count": 0,
        "delivery_count": 1,
        "expires_at": None,
        "operation_id": 1,
        "actor": "",
        "xid": "x",
        "detail": "{}",
        "dead_owners": [1],
        "lock_class": processes.LOCK_CLASS,
        "queues": 2000,
        "kinds": ["dispatcher"],
        "silence": timedelta(seconds=9),
        "timeout": timedelta(seconds=1),
        "synchronous_commit": None,
        "taker": queue.pk,
        "taker_ids": [queue.pk],
        "taker_types": [1],
        "refusing": ["[]"],
        "ways": None,
        "stale": ["_BRK_DEATH_TIME"],
        "lifetime": None,
        "link_id": 1,
        "messages": 1,
        "last": "link 1-1",
        "carried": 1,
        "ends": True,
        "at": NOON,
        "within": None,
        "due_at": NOON,
        "now": NOON,
    }
