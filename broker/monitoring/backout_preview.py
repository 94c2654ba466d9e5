"""Preview of a backout: the outcome of each entry if its unit of work failed now.

It calls the functions that decide in a real backout. It takes no lock and changes
nothing. The result is valid until a setting changes or a queue becomes full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from broker import sql
from broker.config.address_settings import Policy, decisions
from broker.config.auto_create import name_for
from broker.models import AddressSetting, Kind, Message, Place, Queue, RoutingType
from broker.queueing.arrival_expiry import lifetime_on
from broker.queueing.get import Delivery
from broker.queueing.routing import preview_route
from broker.queueing.transfer import Record, TakenEntry, refusals
from broker.settlement import poison
from broker.settlement.backout import UNSET, Cause, decide
from broker.settlement.discards import retentions_s
from broker.settlement.expiry import expiry_target
from broker.settlement.redelivery_policy import (
    DeadLetter,
    Discard,
    Disposition,
    Redeliver,
    Removal,
)
from broker.settlement.redelivery_schedule import Span
from broker.settlement.settings_cache import rules_of
from broker.settlement.settle import parted

DECIDING = (  # settings that decide the outcome, in the order in which they apply
    "poison_policy",
    "max_delivery_attempts",
    "dead_letter_address",
    "redelivery_delay_ms",
    "redelivery_delay_multiplier",
    "max_redelivery_delay_ms",
)
GONE = "its queue was deleted"


class Ending(Enum):
    """How a unit of work can end without a commit."""

    BACK_OUT = "back_out"  # by its holder, by its deadline, or by an operator
    LOST = "lost"  # the process or client that holds the unit of work is gone
    RELEASE = "release"  # its consumer releases prefetched entries


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Outcome: the entry becomes ready again, and its attempt does not count."""


@dataclass(frozen=True, slots=True)
class Expire:
    """Outcome: the entry expires; a copy goes to this address, if there is one."""

    to: str


@dataclass(frozen=True, slots=True)
class Landing:
    """The queues that a dead letter is routed to."""

    on: Sequence[str] = ()  # the copy is put on all these queues
    one_of: Sequence[str] = ()  # and on one of these queues
    made: str = ""  # name of a queue that would be created for the copy
    # The reason why no queue takes the copy; then the message is discarded.
    why_not: str = ""

    @property
    def is_anywhere(self) -> bool:
        return bool(self.on or self.one_of or self.made)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The outcome that one entry would have."""

    entry: TakenEntry  # the entry as it is now
    queue: str  # name of its queue; empty if the queue is gone
    outcome: Disposition | Uncounted | Expire
    attempts: int  # failed attempts, including this attempt
    limit: int | None = None  # most attempts; None: no limit
    waits: Span | None = None  # the redelivery delay, if there is one
    # Queues of the dead letter, if the entry becomes one.
    landing: Landing | None = None
    # Seconds that the entry stays in the discard bin, if it is discarded.
    kept_s: int = 0
    threshold: int = 0  # backout threshold of the queue's consumers; 0: they have none
    removal: Removal | None = None  # what the next consumer does with the entry
    # Pattern of the deciding setting, by field.
    decided_by: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Settings and queues, read once for all entries."""

    rules: Mapping[int, AddressSetting]
    queues: Mapping[int, Queue]
    kept_s: Mapping[int, int]
    # Patterns of settings, by address and then by field.
    patterns: Mapping[str, Mapping[str, str]]


def rehearse(
    held: Sequence[TakenEntry], uow: int, ending: Ending, *, now: datetime | None = None
) -> list[Foreseen]:
    """The outcome of each entry of a unit of work, in the order of the entries.

    If a client is lost, the attempt of its oldest entry counts. Only the client knows
    which that is; this preview assumes the entry with the lowest number.

    Args:
        held: the entries that the unit of work holds.
        uow: its number.
        ending: the way in which the unit of work ends.
        now: the current time; the database's clock when not given.
    """
    known = knowledge({entry.queue_id for entry in held})
    match ending:
        case Ending.BACK_OUT:
            counted = list(held)
        case Ending.LOST:
            counted, _ = parted(held, None)
        case Ending.RELEASE:
            counted = []
    ids = {(entry.queue_id, entry.id) for entry in counted}
    landings = landings_of([one for one in counted if not one.expired], known, now)
    return [
        foreseen(entry, uow, known, landings)
        if (entry.queue_id, entry.id) in ids
        else Foreseen(
            entry, name_of(entry, known), Uncounted(), attempts=entry.backout_count
        )
        for entry in held
    ]


def knowledge(queue_ids: set[int]) -> Knowledge:
    queues = Queue.objects.select_related("address").in_bulk(queue_ids)
    return Knowledge(
        rules_of(queue_ids),
        queues,
        retentions_s(queue_ids),
        {
            address: {
                one.field: one.decided_by or "the built-in default"
                for one in decisions(address)
                if one.field in DECIDING
            }
            for address in {queue.address.name for queue in queues.values()}
        },
    )


def name_of(entry: TakenEntry, known: Knowledge) -> str:
    queue = known.queues.get(entry.queue_id)
    return queue.name if queue else ""


def foreseen(
    entry: TakenEntry,
    uow: int,
    known: Knowledge,
    landings: Mapping[tuple[int, int], Landing],
) -> Foreseen:
    """The outcome of an entry whose attempt counts, or whose time to live is over."""
    queue, rule = known.queues.get(entry.queue_id), known.rules.get(entry.queue_id)
    name = name_of(entry, known)
    if entry.expired:
        to = ""
        if queue and rule:
            to = expiry_target(queue.address.name, queue.backout_threshold, rule)
        return Foreseen(entry, name, Expire(to), attempts=entry.backout_count)
    shortest, outcome, longest = (
        decide(entry.counted(), rule, spread) for spread in (-1, 0, 1)
    )
    waits = None
    if not isinstance(outcome, DeadLetter | Discard):
        assert not isinstance(shortest, DeadLetter | Discard), (
            "spread moves waits alone"
        )
        assert not isinstance(longest, DeadLetter | Discard), "spread moves waits alone"
        waits = Span(shortest.after, outcome.after, longest.after)
    limit = rule.max_delivery_attempts if rule else None
    threshold, removal = 0, None
    if queue and isinstance(outcome, Redeliver):
        threshold, removal = removal_of(entry.counted(), uow, queue, rule)
    return Foreseen(
        entry,
        name,
        outcome,
        attempts=entry.counted().backout_count,
        limit=limit if limit and limit > 0 else None,
        waits=waits,
        landing=landings.get((entry.queue_id, entry.id)),
        kept_s=known.kept_s.get(entry.queue_id, 0),
        threshold=threshold,
        removal=removal,
        decided_by=known.patterns[queue.address.name] if queue else None,
    )


def removal_of(
    entry: TakenEntry, uow: int, queue: Queue, rule: AddressSetting | None
) -> tuple[int, Removal | None]:
    """The backout threshold of a queue's consumers, and what the next consumer does
    with an entry that has reached it. The authorities used are those of this
    application, not those of the user that the consumer runs as."""
    if rule is None or rule.poison_policy not in (Policy.IBM, Policy.BOTH):
        return 0, None
    attributes = poison.attributes_of(queue.name)
    if not attributes.is_poison(entry.backout_count):
        return attributes.threshold, None
    for delivery in sql.fetch(
        "held", Delivery, uow=uow, queue_id=entry.queue_id, message_id=entry.id
    ):
        delivery.backout_count = entry.backout_count
        removing = poison.Removing(delivery, attributes.backout_queue)
        return attributes.threshold, poison.foresee(removing)
    return attributes.threshold, None


def landings_of(
    entries: Sequence[TakenEntry], known: Knowledge, now: datetime | None
) -> dict[tuple[int, int], Landing]:
    """The destinations of the entries that become dead letters or are discarded."""
    found: dict[tuple[int, int], Landing] = {}
    letters: dict[str, list[TakenEntry]] = defaultdict(list)
    for entry in entries:
        rule = known.rules.get(entry.queue_id)
        match decide(entry.counted(), rule, 0):
            case DeadLetter(to):
                letters[to].append(entry.counted())
            case Discard():
                why = UNSET if rule else GONE
                found[entry.queue_id, entry.id] = Landing(why_not=why)
    for to, dead in letters.items():
        found |= landed(to, dead, known, now)
    return found


def landed(
    to: str, entries: Sequence[TakenEntry], known: Knowledge, now: datetime | None
) -> dict[tuple[int, int], Landing]:
    """The queues of a dead letter address that would take each of these entries."""
    route = preview_route(to)
    record = Record(Kind.DEAD_LETTER, Place.CLAIMED, now=now)
    refusing = refusals(
        entries,
        route,
        record,
        Cause.MAX_DELIVERY_ATTEMPTS,
        as_ibm=False,
        lifetime=lifetime_on(to),
    )
    ids = [taker.id for taker in route.queues]
    names = dict(Queue.objects.filter(pk__in=ids).values_list("pk", "name"))
    sent = Message.objects.filter(pk__in=[entry.id for entry in entries])
    addresses = dict(sent.values_list("pk", "address"))
    landings = {}
    for entry, refused in zip(entries, refusing, strict=True):
        takers = [one for one in route.queues if one.id not in refused]
        one_of = [names[t.id] for t in takers if t.routing_type == RoutingType.ANYCAST]
        on = [names[t.id] for t in takers if t.routing_type != RoutingType.ANYCAST]
        if len(one_of) == 1:
            on, one_of = [*on, *one_of], []
        rule = known.rules[entry.queue_id]
        made = to_be_made(rule) if addresses.get(entry.id) == rule.match else ""
        taken = bool(takers or made)
        landings[entry.queue_id, entry.id] = Landing(
            on, one_of, made, "" if taken else route.why_not
        )
    return landings


def to_be_made(rule: AddressSetting) -> str:
    """The queue that would be created for dead letters of an address; empty if none
    would."""
    if not rule.auto_create_dead_letter_resources:
        return ""
    prefix, suffix = rule.dead_letter_queue_prefix, rule.dead_letter_queue_suffix
    name = name_for(rule.match, prefix or "", suffix or "")
    return "" if Queue.objects.filter(name=name).exists() else name
