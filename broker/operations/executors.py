"""Executors: one function for each kind of operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from broker import sql
from broker.errors.messages import MalformedDeadLetterHeader
from broker.formats import moments
from broker.formats.mq import mqdlh
from broker.formats.mq.chain import without_dead_letter_header
from broker.models import DeadLetter, Kind, Operation, Place
from broker.operations import patching
from broker.operations.batches import ItemBatch, batches
from broker.operations.items import Item, Taken, note, reinstate
from broker.operations.outcomes import Outcome
from broker.queueing import limits
from broker.queueing.store import REPAIRED
from broker.queueing.transfer import Copy, Dress, Record, TakenEntry, copy, end
from broker.settlement.backout import dead_letter as put_aside
from broker.settlement.backout import make_resources
from broker.settlement.discards import discard
from broker.settlement.expiry import REASON, drop_all, tell_of_expiry
from broker.settlement.expiry import make_resources as make_expiry_resources

REMOVED = "An operator removed it."
BY_AN_OPERATOR = "An operator sent it to the dead letters."


def do(operation: Operation, items: Sequence[Item], now: datetime | None) -> None:
    """Process items, and record the result of each in the ledger."""
    deed = DEEDS[Operation.Kind(operation.kind)]
    for batch in batches(operation, items, now):
        if batch.obstacle is None:
            patching.fit(batch)
            keep_to_room(batch)
            deed(batch)
        settled = batch.done.keys() | batch.skipped.keys()
        states = batch.states([one for one in batch.ids if one not in settled])
        batch.skipped |= {
            one: Outcome.BUSY if state is Outcome.WILL_GO else state
            for one, state in states.items()
        }
        of = {item.message_id: item.pk for item in batch.items}
        done = {of[one]: became for one, became in batch.done.items()}
        note(batch.items, done, {of[one]: why for one, why in batch.skipped.items()})


def keep_to_room(batch: ItemBatch) -> None:
    """Skip the messages for which the target queues have no room. The queues stay
    locked against other puts until the transaction ends."""
    if not batch.guards or not limits.lock(batch.guards):
        return
    if (room := batch.room()) is None:
        return
    states = batch.states(batch.ids)
    going = [one for one in batch.ids if states[one] is Outcome.WILL_GO]
    batch.skip(going[room:], Outcome.FULL)
    batch.ids = [one for one in batch.ids if one not in batch.skipped]


def resubmit(batch: ItemBatch) -> None:
    """Send dead letters back to the queue they came from, and to no other. Where the
    operation is for every queue of its address, and the queue is named as the address,
    they go to the address.

    Source:
        ActiveMQ Artemis, QueueControl.retryMessages: to the original address; if the
        queue has another name, to that queue only. Here the other queues, which have
        processed the message, get no copy that nobody asked for.
    """
    only = batch.only_queue
    for place, entries in batch.taken():
        send_bare(batch, entries, batch.record(Kind.RESUBMIT, place), only)


def move(batch: ItemBatch) -> None:
    """Move entries to one queue, with or without their MQDLH."""
    way = send_bare if batch.operation.drops_header else send
    for place, entries in batch.taken():
        way(batch, entries, batch.record(Kind.MOVE, place), batch.target)


def send_bare(
    batch: ItemBatch, entries: Sequence[Taken], record: Record, only: str | None
) -> None:
    """Copy entries to the batch's address. Dead letters by IBM MQ's rules are sent
    without the MQDLH that the broker or a program put before them."""
    bare = by_ibm(entries)
    send(batch, [one for one in entries if one.id not in bare], record, only)
    send(batch, [one for one in entries if one.id in bare], record, only, bare=bare)


def copy_there(batch: ItemBatch) -> None:
    """Copy entries to one queue; the originals stay."""
    found = [
        Taken(
            batch.queue_id,
            one.id,
            one.priority,
            one.backout_count,
            one.delivery_count,
            one.expires_at,
        )
        for one in batch.look(batch.ids)
        if batch.known[one.id] is Outcome.WILL_GO
    ]
    send(batch, found, batch.record(Kind.MOVE, None), batch.target, ends=False)


def send(
    batch: ItemBatch,
    entries: Sequence[Taken],
    record: Record,
    only: str | None,
    *,
    bare: Mapping[int, Bare] | None = None,
    ends: bool = True,
) -> None:
    """Copy entries to the batch's address; an entry that no queue takes stays.

    ``bare`` has what each is without its MQDLH, if they go without.
    """
    if not entries:
        return
    unwanted: set[int] = set()

    def stays(refused: Sequence[TakenEntry], _why: str) -> None:
        unwanted.update(entry.id for entry in refused)

    copies = copy(
        entries,
        batch.address,
        record,
        only_queue=only,
        dress=None if bare is None else [bare[one.id].dress for one in entries],
        repairs=batch.repairs,
        ends=ends,
        untaken=stays,
    )
    cut_bodies(copies, bare or {})
    made = {one.id for one in copies}
    batch.became([one for one in entries if one.id in made], copies)
    batch.skip([one.id for one in entries if one.id not in made], Outcome.REFUSED)
    back = [one for one in entries if one.id in unwanted]
    reinstate(back, replace(record, kind=Kind.RELEASE))


def remove(batch: ItemBatch) -> None:
    """Move entries to the discard bin."""
    for place, entries in batch.taken():
        record = batch.record(Kind.REMOVE, place)
        discard(entries, record, why=REMOVED, kind=Kind.REMOVE)
        batch.became(entries)


def expire(batch: ItemBatch) -> None:
    """Expire entries now: copy them to their expiry address or, without one, delete
    them."""
    assert batch.queue is not None
    for place, entries in batch.taken():
        record = batch.record(Kind.EXPIRE, place, error=REASON)
        copies: list[Copy] = []
        if batch.address:
            if batch.rule.auto_create_expiry_resources:
                make_expiry_resources(
                    entries,
                    batch.address,
                    prefix=batch.rule.expiry_queue_prefix or "",
                    suffix=batch.rule.expiry_queue_suffix or "",
                )
            drop = partial(drop_all, {batch.queue.pk: batch.queue.name}, record)
            cause = DeadLetter.Cause.EXPIRED
            copies = copy(entries, batch.address, record, cause=cause, untaken=drop)
        else:
            end(entries, record)
        batch.became(entries, copies)
        tell_of_expiry(entries, now=batch.now)


def dead_letter(batch: ItemBatch) -> None:
    """Send entries to their dead letter address or, without one, discard them.

    Source:
        ActiveMQ Artemis, QueueControl.sendMessagesToDeadLetterAddress.
    """
    if batch.address:
        make_resources(batch.address, [batch.rule])
    cause = DeadLetter.Cause.OPERATOR
    for place, entries in batch.taken():
        record = batch.record(Kind.DEAD_LETTER, place, error=BY_AN_OPERATOR)
        copies = put_aside(entries, batch.address, record, cause=cause)
        batch.became(entries, copies)


def reprioritize(batch: ItemBatch) -> None:
    """Change the priority of entries. Ready entries go to the head of their lane: a
    position among newer entries may be below the low watermark of gets
    (``broker.queueing.low_watermarks``)."""
    priority = int(batch.operation.argument)
    for place, entries in batch.taken():
        record = batch.record(Kind.REPRIORITIZE, place, priority=priority)
        reinstate([replace(entry, priority=priority) for entry in entries], record)
        batch.became(entries)


def deliver(batch: ItemBatch) -> None:
    """End the delay of entries: they become ready, at the head of their queue."""
    entries = batch.reach.delayed(batch.ids)
    record = batch.record(Kind.WAKE, Place.DELAYED)
    reinstate([replace(entry, due_at=None) for entry in entries], record)
    batch.became(entries)


def reschedule(batch: ItemBatch) -> None:
    """Change the time at which delayed entries are due. If it has passed meanwhile,
    they are due at once."""
    due_at = moments.parse(batch.operation.argument)
    entries = batch.reach.delayed(batch.ids)
    record = batch.record(Kind.RESCHEDULE, Place.DELAYED)
    reinstate([replace(entry, due_at=due_at) for entry in entries], record)
    batch.became(entries)


DEEDS: dict[Operation.Kind, Callable[[ItemBatch], None]] = {
    Operation.Kind.RESUBMIT: resubmit,
    Operation.Kind.MOVE: move,
    Operation.Kind.COPY: copy_there,
    Operation.Kind.REMOVE: remove,
    Operation.Kind.EXPIRE: expire,
    Operation.Kind.DEAD_LETTER: dead_letter,
    Operation.Kind.PRIORITY: reprioritize,
    Operation.Kind.DELIVER: deliver,
    Operation.Kind.RESCHEDULE: reschedule,
}


@dataclass(frozen=True, slots=True)
class Bare:
    """The parts of a dead letter without its MQDLH."""

    dress: Dress
    in_body: bool  # whether the MQDLH is the beginning of the body


def by_ibm(held: Sequence[TakenEntry]) -> dict[int, Bare]:
    """Entries that are dead letters by IBM MQ's rules, without their MQDLH.

    Source:
        IBM MQ, "MQDLH - Dead-letter header": to resend, remove it, and restore
        encoding, character set and format from it.
    """
    letters = {
        "ids": [entry.id for entry in held],
        "causes": [cause.value for cause in DeadLetter.IBM_CAUSES],
        "head_bytes": mqdlh.SIZE,
    }
    return {
        message_id: undressed(descriptor, headers or None, head)
        for message_id, descriptor, headers, head in sql.run("ibm_letters", letters)
    }


def undressed(
    descriptor: dict[str, Any] | None, headers: bytes | None, head: bytes | None
) -> Bare:
    try:
        changed, left = without_dead_letter_header(descriptor, headers or head)
    except MalformedDeadLetterHeader:
        return Bare(Dress(descriptor or {}, headers), in_body=False)
    in_body = headers is None and left != head
    return Bare(Dress(changed, left if headers else None), in_body)


def cut_bodies(copies: Iterable[Copy], bare: Mapping[int, Bare]) -> None:
    """Cut the MQDLH off the bodies of copies that begin with it."""
    ids = [one.copy_id for one in copies if one.id in bare and bare[one.id].in_body]
    if ids:
        sql.fetch_one("cut_bodies", ids=ids, size=mqdlh.SIZE, repaired=REPAIRED)
