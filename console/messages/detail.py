"""What is known of one message: what was sent, what happened, where it is now.

Where a message *is* is where its newest copy is: a dead letter that was resubmitted is
looked for under its old number, and found under its new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Func, IntegerField, QuerySet
from django.utils import timezone

from broker.config.address_settings import Policy, merge, policy_of
from broker.models import (
    AddressSetting,
    DeadLetter,
    Discarded,
    Kind,
    Message,
    Place,
    Queue,
)
from broker.queueing import journal
from broker.queueing.browse import Whereabouts, where_is
from console.messages.timeline import Life, Road, lives

ENDS = {  # of the kinds that end a life: the chip's state, and its word
    Kind.ACCEPT: ("done", "accepted"),
    Kind.DEAD_LETTER: ("dead", "dead-lettered"),
    Kind.RESUBMIT: ("done", "resubmitted"),
    Kind.EXPIRE: ("gone", "expired"),
    Kind.DISCARD: ("gone", "discarded"),
    Kind.MOVE: ("done", "moved"),
    Kind.REMOVE: ("gone", "removed"),
    Kind.UNDO: ("gone", "taken back"),
}
UNKNOWN_END = ("gone", "not known")
NEWEST = 3  # lives that are looked for; more only where dead letters go to many queues

Letters = Mapping[tuple[int, int], DeadLetter]  # by message and queue


@dataclass(frozen=True, slots=True)
class Now:
    """Where one life is, or how it ended."""

    life: Life
    state: str  # of the chip
    word: str  # on the chip; empty for the state's own
    since: datetime | None
    road: Road
    place: Whereabouts | None = None  # none: it ended
    letter: DeadLetter | None = None
    binned: Discarded | None = None  # that it can be restored

    @property
    def attempt(self) -> int:
        """The attempt that runs or comes next; of an ended life, the last."""
        return self.place.backout_count + 1 if self.place else self.life.attempts

    @property
    def is_resubmittable(self) -> bool:
        return self.letter is not None and self.state == "dead" and bool(self.place)


@dataclass(frozen=True, slots=True)
class Story:
    """One message, what it was copied from, and what it was copied to."""

    message_id: int
    message: Message | None  # none: past its retention, which the journal's outlives
    lives: list[Life]
    here: list[Now]  # the places of this message, or its end
    newest: list[Now]  # the same of the copies it lives on as; empty if of none

    @property
    def verdicts(self) -> list[Now]:
        """What a person wants to know first: where it is by now."""
        return self.newest or self.here

    @property
    def is_over(self) -> bool:
        """Whether this message is on no queue any more."""
        return not any(now.place for now in self.here)

    @property
    def goes_on(self) -> bool:
        """Whether more may happen by itself; a dead letter waits for a person."""
        return any(now.place and now.state != "dead" for now in self.verdicts)

    @property
    def size(self) -> int:
        """Of the body, in bytes."""
        return getattr(self.message, "size", 0)

    @property
    def backout_count(self) -> int:
        """Of the message where it is; of one that is nowhere, none."""
        return max(
            (now.place.backout_count for now in self.here if now.place), default=0
        )

    @property
    def queues(self) -> set[str]:
        """The names of the queues that the message is on or was on.

        Of the address that it was sent to, where none of them is known any more.
        """
        own = [life for life in self.lives if life.message_id == self.message_id]
        names = {step.road.queue for life in own for step in life.steps} - {""}
        return names or ({self.message.address} if self.message else set())

    @property
    def letter(self) -> DeadLetter | None:
        return next((now.letter for now in self.here if now.letter), None)


def story_of(message_id: int) -> Story | None:
    """The story of a message; None where nobody remembers it.

    Seven queries, and one more for each copy and each life that is looked for.
    """
    message = messages().filter(pk=message_id).first()
    events = journal.lifeline(message_id)
    if message is None and not events:
        return None
    roads = roads_of({event.queue_id for event in events})
    told = lives(events, roads)
    by_id = {life.message_id: life for life in told}
    here = by_id.get(message_id) or Life(message_id, None)
    letters = letters_of({message_id, *by_id})
    newest = [life for life in told if not life.goes_on and life is not here]
    return Story(
        message_id,
        message,
        told,
        whereabouts(here, roads, letters),
        [
            now
            for life in (newest[-NEWEST:] if here.goes_on else [])
            for now in whereabouts(life, roads, letters)
        ],
    )


def messages() -> QuerySet[Message]:
    """Messages without their bytes, but with how many: ``size``, ``headers_size``."""
    return Message.objects.defer("body", "headers").annotate(
        size=octets("body"), headers_size=octets("headers")
    )


def octets(column: str) -> Func:
    return Func(F(column), function="octet_length", output_field=IntegerField())


def roads_of(queue_ids: Iterable[int]) -> dict[int, Road]:
    settings = list(AddressSetting.objects.all())
    queues = Queue.objects.filter(pk__in=queue_ids).select_related("address")
    return {
        queue.pk: Road(
            queue.pk,
            queue.name,
            queue.address.name,
            queue.paused,
            0
            if queue.kind == Queue.Kind.INTERNAL  # of the broker's own work
            else limit_of(queue, merge(queue.address.name, settings)),
        )
        for queue in queues
    }


def limit_of(queue: Queue, setting: AddressSetting) -> int:
    """The attempts after which a message is moved away, by whoever; 0 is no limit."""
    by_broker, by_consumer = setting.max_delivery_attempts or 0, queue.backout_threshold
    match policy_of(setting, by_consumer):
        case Policy.ARTEMIS:
            return max(by_broker, 0)
        case Policy.IBM:
            return by_consumer
        case Policy.BOTH:
            limits = (limit for limit in (by_broker, by_consumer) if limit > 0)
            return min(limits, default=0)
    return 0


def letters_of(message_ids: Iterable[int]) -> Letters:
    rows = DeadLetter.objects.filter(message_id__in=list(message_ids))
    return {(row.message_id, row.queue_id): row for row in rows}


def whereabouts(life: Life, roads: Mapping[int, Road], letters: Letters) -> list[Now]:
    """Every place of one life; how it ended, where it has none."""
    places = where_is(life.message_id)
    if not places:
        return [ended(life, letters)]
    return [
        Now(
            life,
            state_of(place, letter := letters.get((life.message_id, place.queue_id))),
            "",
            life.since(place.queue_id),
            roads.get(place.queue_id) or Road(place.queue_id),
            place,
            letter,
        )
        for place in places
    ]


def state_of(place: Whereabouts, letter: DeadLetter | None) -> str:
    if place.place == Place.CLAIMED:
        return "in-flight"
    if place.expires_at and place.expires_at <= timezone.now():
        return "gone"
    if place.place == Place.DELAYED:
        return "redelivery" if place.backout_count else "delayed"
    return "dead" if letter else "ready"


def ended(life: Life, letters: Letters) -> Now:
    if life.last is None:
        return Now(life, *UNKNOWN_END, None, Road(0))
    state, word = ENDS.get(life.last.kind, UNKNOWN_END)
    if life.last.is_removal and life.last.copy:
        word = "moved"
    if (hop := life.last.departure) and hop.is_carried:
        word = "carried"
    road = life.last.road
    letter = letters.get((life.message_id, road.queue_id))
    is_binned = life.last.kind in (Kind.DISCARD, Kind.REMOVE)
    binned = binned_as(life) if is_binned else None
    return Now(life, state, word, life.last.at, road, None, letter, binned)


def binned_as(life: Life) -> Discarded | None:
    """What the discard bin has of a life."""
    return Discarded.objects.filter(message_id=life.message_id).first()
