"""The facts of one message: what was sent, its history, where it is now.

A message has one number, that of its first original. It is shown where its newest copy
is; each copy can be shown by its own id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Func, IntegerField, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

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
from broker.monitoring.numbers import copies_of, public_numbers
from broker.queueing import journal
from broker.queueing.browse import Whereabouts, where_is
from console.messages.timeline import Life, Road, lives

ENDS = {  # kinds of events that end a message: state and label of the chip
    Kind.ACCEPT: ("done", gettext_noop("accepted")),
    Kind.DEAD_LETTER: ("dead", gettext_noop("dead-lettered")),
    Kind.RESUBMIT: ("done", gettext_noop("resubmitted")),
    Kind.EXPIRE: ("gone", gettext_noop("expired")),
    Kind.DISCARD: ("gone", gettext_noop("discarded")),
    Kind.MOVE: ("done", gettext_noop("moved")),
    Kind.REMOVE: ("gone", gettext_noop("removed")),
    Kind.UNDO: ("gone", gettext_noop("taken back")),
}
UNKNOWN_END = ("gone", gettext_noop("not known"))
# The most copies whose place is shown: more occur only on many dead letter queues.
NEWEST = 3

# dead letters by message id and queue id
Letters = Mapping[tuple[int, int], DeadLetter]


@dataclass(frozen=True, slots=True)
class Now:
    """Where one copy is, or how it ended."""

    life: Life
    state: str  # the state of the chip
    word: str  # the label of the chip in English; empty: the label of the state
    since: datetime | None
    road: Road
    place: Whereabouts | None = None  # None: the copy has ended
    letter: DeadLetter | None = None
    # the entry of the copy in the discard bin; None: it is not there
    binned: Discarded | None = None

    @property
    def attempt(self) -> int:
        """The current or next attempt; after the end, the last one."""
        return self.place.backout_count + 1 if self.place else self.life.attempts

    @property
    def is_missed(self) -> bool:
        """Whether it left its queue after its journal was read."""
        return self.place is None and self.word == UNKNOWN_END[1]

    @property
    def is_resubmittable(self) -> bool:
        return self.letter is not None and self.state == "dead" and bool(self.place)


@dataclass(frozen=True, slots=True)
class Story:
    """A message, its origin copy, and its copies."""

    message_id: int  # the id of the copy that is shown
    number: int  # the number that all copies share
    names: Mapping[int, str]  # the name of each copy on the page, by id
    # None: the message is past its retention; its journal is kept longer
    message: Message | None
    lives: list[Life]
    here: list[Now]  # where this message is, or how it ended
    # where its newest copies are, or how they ended; empty without copies
    newest: list[Now]

    @property
    def verdicts(self) -> list[Now]:
        """The present place of the message or of its copies."""
        return self.newest or self.here

    @property
    def is_over(self) -> bool:
        """Whether this message is on no queue any more."""
        return not any(now.place for now in self.here)

    @property
    def goes_on(self) -> bool:
        """Whether more may happen without a user; dead letters wait for a user."""
        return any(now.place and now.state != "dead" for now in self.verdicts)

    @property
    def size(self) -> int:
        """The length of the body, in bytes."""
        return getattr(self.message, "size", 0)

    @property
    def backout_count(self) -> int:
        """The message's backout count on its queue; 0 if it is on no queue."""
        return max(
            (now.place.backout_count for now in self.here if now.place), default=0
        )

    @property
    def queues(self) -> set[str]:
        """The names of the queues that the message is or was on.

        If no queue is known any more, the address that the message was sent to.
        """
        own = [life for life in self.lives if life.message_id == self.message_id]
        names = {step.road.queue for life in own for step in life.steps} - {""}
        return names or ({self.message.address} if self.message else set())

    @property
    def letter(self) -> DeadLetter | None:
        return next((now.letter for now in self.here if now.letter), None)


def story_of(message_id: int, *, newest: bool = False) -> Story | None:
    """The story of a message; None if it is unknown. If the message moves on while it
    is read, it is read again: else a page would show for ever that its end is unknown.

    Eight queries, and one more for each copy.

    Args:
        message_id: the id of a copy.
        newest: show the newest copy instead, if this one is on no queue any more and
            there is only one newest.
    """
    story = read_story(message_id, newest=newest)
    if story is not None and any(now.is_missed for now in story.verdicts):
        return read_story(message_id, newest=newest)
    return story


def read_story(message_id: int, *, newest: bool) -> Story | None:
    events = journal.lifeline(message_id)
    roads = roads_of({event.queue_id for event in events})
    told = lives(events, roads)
    by_id = {life.message_id: life for life in told}
    here = by_id.get(message_id) or Life(message_id, None)
    numbers = public_numbers({message_id, *by_id})
    last = [
        life for life in told if not (life.goes_on or life.is_undone or life is here)
    ]
    own = [one for one in last if numbers[one.message_id] == numbers[message_id]]
    if newest and here.goes_on and last == own[:1] and not where_is(message_id):
        here, message_id, last = own[0], own[0].message_id, []
    message = messages().filter(pk=message_id).first()
    if message is None and not events:
        copies = copies_of([message_id])[message_id] - {message_id}
        return read_story(max(copies), newest=False) if copies else None
    letters = letters_of({message_id, *by_id})
    return Story(
        message_id,
        numbers[message_id],
        names_of(told, numbers, numbers[message_id]),
        message,
        told,
        whereabouts(here, roads, letters),
        [
            now
            for life in (last[-NEWEST:] if here.goes_on else [])
            for now in whereabouts(life, roads, letters)
        ],
    )


def names_of(
    told: Iterable[Life], numbers: Mapping[int, int], number: int
) -> dict[int, str]:
    """What each life is called, by id: copies in the order in which they were made.

    A link between two queues of this broker carries a message on under another number.
    """
    copies: Counter[int] = Counter()
    names = {}
    for life in told:
        own = numbers[life.message_id]
        if own != life.message_id:
            copies[own] += 1
        told_as = gettext("message %(number)s")
        if own != life.message_id:
            told_as = gettext("copy %(n)s of message %(number)s")
            if own == number:
                told_as = gettext("copy %(n)s")
        names[life.message_id] = told_as % {"n": copies[own], "number": own}
    return names | ({number: gettext("the original")} if copies[number] else {})


def messages() -> QuerySet[Message]:
    """Messages without their bytes, but with sizes: ``size``, ``headers_size``."""
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
            # 0: deliveries from an internal queue are not limited
            if queue.kind == Queue.Kind.INTERNAL
            else limit_of(queue, merge(queue.address.name, settings)),
        )
        for queue in queues
    }


def limit_of(queue: Queue, setting: AddressSetting) -> int:
    """The number of attempts before the message is dead-lettered or moved to a backout
    queue; 0 is no limit.
    """
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
    """Every place of one copy, or how it ended."""
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
        word = gettext_noop("moved")
    if (hop := life.last.departure) and hop.is_carried:
        word = gettext_noop("carried")
    road = life.last.road
    letter = letters.get((life.message_id, road.queue_id))
    is_binned = life.last.kind in (Kind.DISCARD, Kind.REMOVE)
    binned = binned_as(life) if is_binned else None
    return Now(life, state, word, life.last.at, road, None, letter, binned)


def binned_as(life: Life) -> Discarded | None:
    """The copy's entry in the discard bin."""
    return Discarded.objects.filter(message_id=life.message_id).first()
