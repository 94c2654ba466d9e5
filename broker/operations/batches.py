"""Batches of items of one operation with the same queue and the same target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Q

from broker.config.address_settings import Policy, policy_of, settings_for
from broker.models import AddressSetting, Kind, Operation, Place, Queue, RoutingType
from broker.operations.commands import EVERY_QUEUE
from broker.operations.items import Done, Found, Item, Reach, Taken
from broker.operations.outcomes import Outcome
from broker.queueing import limits
from broker.queueing.copy_edits import Repairs
from broker.queueing.transfer import Copy, Record

TO_A_QUEUE = {Operation.Kind.RESUBMIT, Operation.Kind.MOVE, Operation.Kind.COPY}
BY_ADDRESS = {Operation.Kind.EXPIRE, Operation.Kind.DEAD_LETTER}
OF_DELAYED = {Operation.Kind.DELIVER, Operation.Kind.RESCHEDULE}
EXPIRED_TOO = BY_ADDRESS | {Operation.Kind.REMOVE}


@dataclass
class ItemBatch:
    """Items with the same queue and the same target, and their results."""

    operation: Operation
    queue_id: int
    target: str  # name of the target queue, if the items have one
    items: list[Item]
    now: datetime | None
    done: dict[int, Done] = field(default_factory=dict)  # results by message id
    skipped: dict[int, Outcome] = field(default_factory=dict)
    known: dict[int, Outcome] = field(default_factory=dict)
    repairs: Repairs = field(default_factory=dict)

    @cached_property
    def ids(self) -> list[int]:
        return [item.message_id for item in self.items]

    @property
    def reach(self) -> Reach:
        expired_too = self.operation.kind in EXPIRED_TOO
        return Reach(self.queue_id, self.now, expired_too)

    @cached_property
    def queue(self) -> Queue | None:
        """The queue of the entries; None if it was deleted."""
        queues = Queue.objects.select_related("address")
        return queues.filter(pk=self.queue_id).first()

    @cached_property
    def goal(self) -> Queue | None:
        """The target queue; None if the target is not a queue or does not exist."""
        queues = Queue.objects.select_related("address")
        return queues.filter(name=self.target).first()

    @cached_property
    def rule(self) -> AddressSetting:
        """The merged settings of the address of the entries' queue."""
        return settings_for(self.queue.address.name if self.queue else "")

    @cached_property
    def address(self) -> str:
        """The address to which the entries are sent; empty if they are deleted or
        stay."""
        match self.operation.kind:
            case Operation.Kind.EXPIRE:
                return expiry_address(self.queue, self.rule) if self.queue else ""
            case Operation.Kind.DEAD_LETTER:
                return self.rule.dead_letter_address or ""
        return self.goal.address.name if self.goal else ""

    @property
    def only_queue(self) -> str | None:
        """The only queue of the address that gets the copies; None if all that accept
        them do."""
        resubmits = self.operation.kind == Operation.Kind.RESUBMIT
        is_whole = resubmits and self.target == self.address
        is_whole = is_whole and self.operation.argument == EVERY_QUEUE
        return None if is_whole else self.target

    @cached_property
    def guards(self) -> list[Queue]:
        """The guarded queues that would get copies. Other anycast queues of the address
        are left out: one of them gets a message only if it accepts it."""
        if self.goal is None or self.operation.kind not in TO_A_QUEUE:
            return []
        there = Queue.objects.filter(address=self.goal.address, guarded=True)
        multicast = Q(routing_type=RoutingType.MULTICAST)
        own = Q(pk=self.goal.pk)
        return list(there.filter(own if self.only_queue else own | multicast))

    def room(self) -> int | None:
        """How many more messages the target queues may hold; None: no limit."""
        limited = [one for one in self.guards if one.max_depth is not None]
        return min(map(limits.room, limited), default=None)

    @property
    def obstacle(self) -> Outcome | None:
        """The reason why none of the items can be processed; None if they can.

        Source:
            ActiveMQ Artemis: a message on its own dead letter address stays there.
        """
        kind = self.operation.kind
        if self.queue is None:
            return Outcome.GONE
        if kind in TO_A_QUEUE and self.goal is None:
            return Outcome.NO_WAY_BACK
        if any(guard.put_inhibited for guard in self.guards):
            return Outcome.INHIBITED
        loops = self.address == self.queue.address.name
        if kind == Operation.Kind.DEAD_LETTER and loops:
            return Outcome.REFUSED
        return None

    def record(self, kind: Kind, place: Place | None, **detail: Any) -> Record:
        detail = {"operation": self.operation.pk} | detail
        if self.repairs:
            detail["repaired"] = True
        actor = self.operation.created_by.get_username()
        return Record(kind, place, None, actor, detail, self.now)

    def taken(self) -> Iterator[tuple[Place, list[Taken]]]:
        """Take the entries: ready entries first, then delayed entries."""
        ready = self.reach.ready(self.ids)
        missing = sorted(set(self.ids).difference(one.id for one in ready))
        there = [
            one for one in self.look(missing) if self.known[one.id] is Outcome.WILL_GO
        ]
        waiting = [one.id for one in there if one.place == Place.DELAYED]
        delayed = self.reach.delayed(waiting) if waiting else []
        due = [one.id for one in there if one.place == Place.READY]
        ready += self.reach.ready(due) if due else []
        yield from (
            (place, some)
            for place, some in ((Place.READY, ready), (Place.DELAYED, delayed))
            if some
        )

    def became(self, entries: Sequence[Taken], copies: Sequence[Copy] = ()) -> None:
        """Record entries as done: their earlier state, and their copies."""
        copy_ids = {one.id: one.copy_id for one in copies}
        for entry in entries:
            self.done[entry.id] = Done(entry, copy_ids.get(entry.id))

    def skip(self, ids: Iterable[int], why: Outcome) -> None:
        self.skipped.update(dict.fromkeys(ids, why))

    def look(self, ids: Sequence[int]) -> list[Found]:
        """Read the state of entries; store the outcome of each entry in ``known``."""
        if not ids:
            return []
        found = self.reach.find(ids)
        self.known |= dict.fromkeys(ids, Outcome.GONE)
        self.known |= {one.id: self.state(one) for one in found}
        return found

    def states(self, ids: Sequence[int]) -> dict[int, Outcome]:
        """The outcome that each entry would have, as last read: WILL_GO, or the reason
        why not."""
        if self.obstacle is not None:
            return dict.fromkeys(ids, self.obstacle)
        self.look([one for one in ids if one not in self.known])
        return {one: self.known[one] for one in ids}

    def state(self, found: Found) -> Outcome:
        if found.place == Place.CLAIMED:
            return Outcome.HELD
        if found.expired and not self.reach.expired_too:
            return Outcome.EXPIRED
        of_delayed = self.operation.kind in OF_DELAYED
        if of_delayed and found.place == Place.READY:
            return Outcome.NOT_DELAYED
        return Outcome.WILL_GO


def batches(
    operation: Operation, items: Iterable[Item], now: datetime | None
) -> list[ItemBatch]:
    """Group items by queue and target."""
    by_way: dict[tuple[int, str], list[Item]] = defaultdict(list)
    for item in items:
        by_way[item.queue_id, item.target].append(item)
    return [
        ItemBatch(operation, queue_id, target, part, now)
        for (queue_id, target), part in by_way.items()
    ]


def expiry_address(queue: Queue, rule: AddressSetting) -> str:
    """The expiry address of a queue (``broker.settlement.expiry``); empty if expired
    messages are deleted."""
    to = rule.expiry_address or ""
    is_dropped = policy_of(rule, queue.backout_threshold) is Policy.IBM
    return "" if is_dropped or to == rule.match else to
