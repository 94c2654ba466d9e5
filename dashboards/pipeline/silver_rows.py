"""The rows of silver, from timelines. Columns are in Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc

from dashboards.pipeline import silver
from dashboards.pipeline.events import (
    BACKED_OUT,
    CLAIMED,
    DELAYED,
    FAILED,
    GOT,
    KINDS,
    PLACES,
    PUT,
    arrow_schema,
)
from dashboards.pipeline.timelines import DAY_US, Timelines, all_of

EDGE_US = 1_000_000
EPOCH = date(1970, 1, 1)
COPIES_DDL = """
    copy bigint, day date, id bigint, queue_id int, queue string, end string,
    cause string, source_end string, source_day date
"""
COPIES = arrow_schema(COPIES_DDL)
PARENTS = arrow_schema("""
    copy bigint, day date, id bigint, queue_id int, queue string, end string,
    cause string
""")
# Stays whose parents are not known yet. ``from_day`` is the day of the line that tells
# where the message came from.
DRAFTS = arrow_schema(f"{silver.STAYS}, from_day date")


def words(numbers: pa.Array, known: Mapping[str, int]) -> pa.Array:
    values = pa.array(list(known.values()), numbers.type)
    found = pa.array(list(known)).take(pc.index_in(numbers, values))
    return pc.fill_null(found, "unknown")


def only(condition: pa.Array, values: pa.Array) -> pa.Array:
    """The values where a condition holds, null elsewhere."""
    return pc.if_else(condition, values, pa.scalar(None, values.type))


def number(day: date) -> int:
    return (day - EPOCH).days


def table(schema: pa.Schema, **columns: pa.Array) -> pa.Table:
    arrays = [columns[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def got(told: Timelines, rows: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """When the newest delivery of some lines began, who got it, in which unit of
    work."""
    line = told.taker_row.take(rows)
    is_got = pc.equal(told.at("kind", line), GOT)
    was_claimed = pc.equal(told.of_carried("place", line), "claimed")
    is_known = pc.or_kleene(told.starts.take(line), was_claimed)
    return (
        pc.if_else(is_got, told.at("at", line), told.of_carried("got_at", line)),
        pc.if_else(is_got, told.at("actor", line), told.of_carried("handler", line)),
        only(is_known, told.at("uow", line)),
    )


def key(told: Timelines, rows: pa.Array) -> dict[str, pa.Array]:
    """Of stays; the id of one is the ``seq`` of its first line, perhaps on an earlier
    day."""
    line = told.stay_row.take(rows)
    stay = pc.coalesce(told.of_carried("stay", line), told.at("seq", line))
    names = ("message_id", "queue_id", "queue")
    return {"stay": stay} | {name: told.at(name, rows) for name in names}


def deliveries(told: Timelines) -> pa.Table:
    """Rows of ``silver.DELIVERIES``: the deliveries that ended."""
    is_row = pc.and_(pc.greater(told.deliveries, 0), pc.or_(told.ends, told.lost))
    rows = told.row.filter(is_row)
    lost = told.lost.take(rows)
    kind = told.kind.take(rows)
    known = pc.invert(lost)
    got_at, handler, uow = got(told, rows)
    is_delayed = pc.and_(told.ends, pc.equal(told.went, DELAYED)).take(rows)
    next_at = told.next_of_stay(told["at"]).take(rows)
    return table(
        arrow_schema(silver.DELIVERIES),
        day=pc.if_else(lost, told.next_day.take(rows), told.day.take(rows)),
        **key(told, rows),
        attempt=told.deliveries.take(rows),
        got_at=got_at,
        ended_at=pc.if_else(lost, next_at, told.at("at", rows)),
        outcome=pc.if_else(lost, silver.LOST, words(kind, KINDS)),
        failed=pc.and_(known, told.is_kind(*FAILED).take(rows)),
        cause=only(known, told.at("cause", rows)),
        error=only(known, told.at("error", rows)),
        fingerprint=only(known, told.at("fingerprint", rows)),
        next_due_at=only(is_delayed, told.at("due_at", rows)),
        handler=pc.coalesce(handler, only(known, told.at("actor", rows))),
        uow=pc.coalesce(only(known, told.at("uow", rows)), uow),
    )


def rows_of_stays(told: Timelines, days: Sequence[date]) -> tuple[pa.Array, pa.Array]:
    """The lines that are a row of a stay, and their day: the last line of a stay that
    ended, and for each day after which it was open the last line until then."""
    is_over = pc.equal(told.went, 0)
    rows, of_day = [told.row.filter(is_over)], [told.day.filter(is_over)]
    for day in map(number, days):
        has_begun = pc.fill_null(pc.less_equal(told.day, day), fill_value=True)
        is_newest = pc.fill_null(pc.greater(told.next_day, day), fill_value=True)
        chosen = told.row.filter(all_of(pc.invert(is_over), has_begun, is_newest))
        rows.append(chosen)
        of_day.append(pa.repeat(pa.scalar(day, pa.int32()), len(chosen)))
    return pa.concat_arrays(rows), pa.concat_arrays(of_day)


def stays(told: Timelines, days: Sequence[date]) -> pa.Table:
    """Rows of ``DRAFTS``: of each stay that ended, and of each day after which it was
    open.

    Args:
        told: the timelines.
        days: that are built, in order.
    """
    rows, of_day = rows_of_stays(told, days)
    failure = told.failure_row.take(rows)
    went = told.went.take(rows)
    over = pc.equal(went, 0)
    goes_on = pc.invert(over)
    is_claimed = pc.equal(went, CLAIMED)
    got_at, handler, _ = got(told, rows)
    had_failed = pc.equal(told.at("kind", failure), BACKED_OUT)

    def newest(name: str) -> pa.Array:
        backed_out = told.at(name, failure)
        earlier = pc.if_else(had_failed, backed_out, told.of_carried(name, failure))
        return pc.if_else(over, told.at(name, rows), earlier)

    return table(
        DRAFTS,
        **key(told, rows),
        **beginnings(told, told.stay_row.take(rows)),
        first_got_at=told.first_got_at.take(rows),
        **{
            name: getattr(told, name).take(rows)
            for name in (
                "deliveries", "failed", "waited_us", "delayed_us", "held_us"
            )
        },
        cause=only(over, told.at("cause", rows)),
        error=newest("error"),
        fingerprint=newest("fingerprint"),
        **sources(told, told.source_row.take(rows)),
        ended_at=only(over, told.at("at", rows)),
        ended=only(over, words(told.kind.take(rows), KINDS)),
        handler=pc.if_else(over, told.at("actor", rows), only(is_claimed, handler)),
        uow=only(pc.or_(over, is_claimed), told.at("uow", rows)),
        became=told.at("copy", rows),
        place=only(goes_on, words(went, PLACES)),
        since=only(goes_on, told.at("at", rows)),
        due_at=only(pc.equal(went, DELAYED), told.at("due_at", rows)),
        last_seq=told.at("seq", rows),
        got_at=only(is_claimed, got_at),
        day=of_day,
    )  # fmt: skip


def beginnings(told: Timelines, line: pa.Array) -> dict[str, pa.Array]:
    """How and when messages came to their queue, by the first lines of their stays."""
    is_carried = pc.is_valid(told.carried_row.take(line))
    is_new = pc.equal(told.came.take(line), 0)
    kind = words(told.at("kind", line), KINDS)
    began = pc.if_else(is_new, kind, "unknown")
    put_at = only(is_new, told.at("at", line))
    return {
        "began": pc.if_else(is_carried, told.of_carried("began", line), began),
        "put_at": pc.if_else(is_carried, told.of_carried("put_at", line), put_at),
    }


def sources(told: Timelines, line: pa.Array) -> dict[str, pa.Array]:
    """Where messages came from, by the lines that tell it."""
    is_put = pc.equal(told.at("kind", line), PUT)

    def of_put(name: str, of_stay: str) -> pa.Array:
        own = only(is_put, told.at(name, line))
        return pc.coalesce(told.of_carried(of_stay, line), own)

    parent = {
        name: told.of_carried(name, line)
        for name in (
            "parent_message_id", "parent_queue_id", "parent_queue", "parent_end",
            "parent_cause",
        )
    }  # fmt: skip
    return parent | {
        "put_cause": of_put("cause", "put_cause"),
        "put_fingerprint": of_put("fingerprint", "put_fingerprint"),
        "repaired": pc.fill_null(of_put("repaired", "repaired"), fill_value=False),
        "from_day": told.at("day", line),
    }


def copies(told: Timelines) -> pa.Table:
    """Rows of ``COPIES``: what each copy of these messages was made from."""
    rows = told.row.filter(pc.is_valid(told["copy"]))
    source = sources(told, told.source_row.take(rows))
    return table(
        COPIES,
        copy=told.at("copy", rows),
        day=told.at("day", rows),
        id=told.at("message_id", rows),
        queue_id=told.at("queue_id", rows),
        queue=told.at("queue", rows),
        end=words(told.kind.take(rows), KINDS),
        cause=source["put_cause"],
        source_end=source["parent_end"],
        source_day=source["from_day"],
    )


def parents(copies: pa.Table) -> pa.Table:
    """Rows of ``PARENTS``. ``cause`` is the cause for which the parent itself was a
    dead letter. For an expired message only its last event tells it."""
    first = pc.index_in(copies["id"], copies["copy"])
    end = found(copies, first, copies["source_day"], copies["day"], "end")
    expired = pc.equal(pc.coalesce(copies["source_end"], end), "expired")
    cause = pc.coalesce(copies["cause"], only(expired, pa.repeat("EXPIRED", len(end))))
    named = ("copy", "day", "id", "queue_id", "queue", "end")
    return table(PARENTS, cause=cause, **{one: copies[one] for one in named})


def found(
    of: pa.Table, rows: pa.Array, first: pa.Array, last: pa.Array, name: str
) -> pa.Array:
    """A column of the rows that were found, if their day is between two days. One
    statement ends a message and puts its copy, so both are on the same day."""
    day = of["day"].take(rows)
    late = pc.fill_null(pc.greater_equal(day, first), fill_value=True)
    return only(pc.and_(late, pc.less_equal(day, last)), of[name].take(rows))


def with_parents(drafts: pa.Table, parents: pa.Table) -> pa.Table:
    """Rows of ``silver.STAYS``: the stays, with the message that each was copied from,
    if it is a copy."""
    rows = pc.index_in(drafts["message_id"], parents["copy"])

    def of_parent(name: str) -> pa.Array:
        return found(parents, rows, drafts["from_day"], drafts["day"], name)

    end = of_parent("end")
    expired = only(pc.equal(end, "expired"), pa.repeat("EXPIRED", len(end)))
    known = {
        "put_cause": expired,
        "parent_message_id": of_parent("id"),
        "parent_queue_id": of_parent("queue_id"),
        "parent_queue": of_parent("queue"),
        "parent_end": end,
        "parent_cause": of_parent("cause"),
    }
    return table(
        arrow_schema(silver.STAYS),
        **{name: drafts[name] for name in drafts.column_names if name not in known},
        **{name: pc.coalesce(drafts[name], own) for name, own in known.items()},
    )


def tallies(
    told: Timelines, days: Sequence[date], as_of: datetime
) -> list[silver.Tally]:
    """The sums of each day over these lines.

    Args:
        told: the timelines.
        days: that are built, in order.
        as_of: all events before this time are in the archive. Close to the start of a
            day the order of events is not certain; whether a stay has a beginning is
            not asked there.
    """
    into_day = pc.subtract(
        told.at_us, pc.multiply(pc.divide(told.at_us, DAY_US), DAY_US)
    )
    lacks_begin = all_of(
        told.begins,
        pc.not_equal(told.came, 0),
        pc.greater_equal(into_day, EDGE_US),
        pc.less_equal(told["at"], pa.scalar(as_of, told["at"].type)),
    )
    end_day = pc.if_else(told.lost, told.next_day, only(told.ends, told.day))
    message = told["message_id"]

    def of(n: int) -> silver.Tally:
        here = pc.fill_null(pc.equal(told.day, n), fill_value=False)
        lacking = pc.and_(here, lacks_begin)
        unput = message.filter(pc.and_(lacking, told.is_fresh))
        put = message.filter(pc.and_(here, told.is_kind(PUT)))
        return silver.Tally(
            entries=0,
            of_links=0,
            lines=count(here),
            begun=count(pc.and_(here, told.begins)),
            ended=count(pc.and_(here, pc.equal(told.went, 0))),
            deliveries_ended=count(pc.equal(end_day, n)),
            again=count(lacking) - len(unput),
            without_put=pc.max(unput).as_py(),
            floor=pc.min(put).as_py(),
        )

    return [of(number(day)) for day in days]


def count(condition: pa.Array) -> int:
    return int(pc.sum(condition).as_py() or 0)
