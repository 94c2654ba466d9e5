"""The timeline of a message: the journal's events combined into steps.

The journal has one row per move; the timeline has one step per attempt. A get and its
outcome are one step, and so are a delay and its end. A message and its copies are shown
as the lives of one chain. Events of links belong to the attempt in which the link got
the message, or to the put by which it arrived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from django.utils.translation import gettext

from broker.formats import moments
from broker.formats.error_fingerprint import fingerprint
from broker.models import DeadLetter, Kind, Place
from broker.queueing.hops import Hop, hop_of
from broker.queueing.journal import LifelineEvent

COUNTED = (Kind.BACK_OUT, Kind.DEAD_LETTER)
FAILED = (*COUNTED, Kind.DISCARD)
BEGIN_AGAIN = (Kind.RESTORE, Kind.RESET)
STANDS = 2  # so many steps are shown at each end of a run of equal steps
LONGEST_MIDDLE = 100  # the most steps between the ends that a user can unfold


@dataclass(frozen=True, slots=True)
class Road:
    """What the steps on one queue have in common."""

    queue_id: int
    queue: str = ""  # the queue's name; empty after its deletion
    address: str = ""  # the address that feeds it
    is_paused: bool = False
    limit: int = 0  # the most delivery attempts; 0: no limit

    @property
    def label(self) -> str:
        return self.queue or gettext("queue %(id)s (gone)") % {"id": self.queue_id}


@dataclass(slots=True)
class TimelineStep:
    """One event or attempt; ``attempt`` is its number."""

    kind: Kind
    at: datetime  # the end of the step; for an entry in flight, the time of the get
    road: Road
    actor: str = ""
    attempt: int | None = None
    got_at: datetime | None = None
    error: str = ""
    stack: str = ""  # stack trace of the handler that raised the error
    due_at: datetime | None = None
    woken_at: datetime | None = None
    is_delayed: bool = False
    to: str = ""  # the address of the copy
    copy: int | None = None
    queues: list[str] = field(default_factory=list)  # the queues of the copy
    cause: str = ""  # why the message became a dead letter
    reason: int | None = None  # IBM MQ's reason code
    backouts: int = 0  # backouts on its queue so far
    operation: int | None = None
    is_repaired: bool = False  # whether the copy differs from its original
    why: str = ""
    hops: list[Hop] = field(default_factory=list)  # transfers by links in this step
    after: timedelta | None = None  # time since the end of the step before
    same_error: bool = False  # whether the step before had the same error
    # equal steps before this one, shown folded
    alike: list[TimelineStep] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The kind of the step, as a CSS class and template name."""
        return self.kind.name.lower()

    @property
    def began_at(self) -> datetime:
        return self.got_at or self.at

    @property
    def ended_at(self) -> datetime:
        return self.woken_at or self.at

    @property
    def is_removal(self) -> bool:
        """Whether a consumer removed the message unread, by IBM MQ's rules."""
        by_rule = self.cause in DeadLetter.IBM_CAUSES or self.reason is not None
        return by_rule and self.kind in (Kind.DEAD_LETTER, Kind.DISCARD)

    @property
    def departure(self) -> Hop | None:
        """The transfer by which a link got the message."""
        return next((hop for hop in self.hops if hop.is_departure), None)

    @property
    def took(self) -> timedelta | None:
        return self.at - self.got_at if self.got_at else None

    @property
    def waited(self) -> timedelta | None:
        return self.woken_at - self.at if self.woken_at else None

    @property
    def limit(self) -> int | None:
        """The allowed attempts, unless the setting changed meanwhile."""
        return self.road.limit if (self.attempt or 0) <= self.road.limit else None

    @property
    def unfolded(self) -> list[TimelineStep]:
        return self.alike[:LONGEST_MIDDLE]


@dataclass(slots=True)
class Life:
    """One message of the chain, from its put to its end."""

    message_id: int
    was: int | None  # the original that this message is a copy of
    steps: list[TimelineStep] = field(default_factory=list)

    @property
    def last(self) -> TimelineStep | None:
        return self.steps[-1] if self.steps else None

    @property
    def goes_on(self) -> bool:
        """Whether a copy replaced the message, and no undo removed the copy."""
        goes_on = False
        for step in self.steps:
            if step.kind == Kind.REINSTATE:
                goes_on = False
            elif step.copy:
                goes_on = True
        return goes_on

    @property
    def is_undone(self) -> bool:
        """Whether an undo removed the message; then its original is back."""
        return self.last is not None and self.last.kind == Kind.UNDO

    def since(self, queue_id: int) -> datetime | None:
        """When the message last moved on a queue."""
        times = (s.ended_at for s in self.steps if s.road.queue_id == queue_id)
        return max(times, default=None)

    @property
    def attempts(self) -> int:
        return max((step.attempt or 0 for step in self.steps), default=0)


def lives(events: Iterable[LifelineEvent], roads: Mapping[int, Road]) -> list[Life]:
    """The lives in the events, in order of their beginning.

    Args:
        events: of a message and its copies, in order.
        roads: by queue id; a missing queue was deleted.
    """
    found: dict[int, Life] = {}
    originals: dict[int, int] = {}
    by_life: dict[int, list[LifelineEvent]] = {}
    for event in events:
        by_life.setdefault(event.message_id, []).append(event)
        if copy := event.detail.get("copy"):
            originals[copy] = event.message_id
    for message_id, own in by_life.items():
        life = Life(message_id, originals.get(message_id))
        life.steps = folded(compared(steps(own, roads)))
        found[message_id] = life
    for step in (step for life in found.values() for step in life.steps):
        step.queues = arrivals(found.get(step.copy or 0))
    return list(found.values())


def failures(told: Iterable[Life]) -> Iterator[TimelineStep]:
    """The steps that a consumer ended with an error, also those that are folded."""
    for life in told:
        for shown in life.steps:
            for step in (*shown.alike, shown):
                if step.error and step.kind in FAILED:
                    yield step


def arrivals(life: Life | None) -> list[str]:
    """The queues on which a life began."""
    begun = life.steps if life else []
    return [step.road.label for step in begun if step.kind == Kind.PUT]


def steps(
    events: Iterable[LifelineEvent], roads: Mapping[int, Road]
) -> list[TimelineStep]:
    """The steps of one message, made from its events."""
    told: list[TimelineStep] = []
    held: dict[
        tuple[int, int | None], TimelineStep
    ] = {}  # open gets, by queue and unit of work
    delayed: dict[int, TimelineStep] = {}  # steps that wait, by queue id
    backouts: Counter[int] = Counter()  # numbers of backouts, by queue id
    for event in events:
        queue_id = event.queue_id
        if event.kind == Kind.WAKE and queue_id in delayed:
            delayed.pop(queue_id).woken_at = event.at
            continue
        if event.kind == Kind.TRANSFER and carried(event, held, told):
            continue
        road = roads.get(queue_id) or Road(queue_id)
        uow = event.detail.get("from_uow", event.uow)
        goes_on = event.kind == Kind.RESET  # it ends no delivery
        step = None if goes_on else held.pop((queue_id, uow), None)
        if step is None:
            step = TimelineStep(event.kind, event.at, road)
            told.append(step)
        if event.kind == Kind.GET:
            step.attempt = backouts[queue_id] + 1
            step.got_at = event.at
            held[queue_id, event.uow] = step
        tell(step, event)
        count(step, event, backouts)
        if event.kind == Kind.SKIP:  # the attempt goes on in another unit of work
            held[queue_id, event.uow] = kept = TimelineStep(Kind.GET, event.at, road)
            kept.attempt, kept.got_at = step.attempt, event.at
            told.append(kept)
        if step.is_delayed:
            delayed[queue_id] = step
    return told


def carried(
    event: LifelineEvent,
    held: Mapping[tuple[int, int | None], TimelineStep],
    told: list[TimelineStep],
) -> bool:
    """Record a link's transfer in the step it belongs to: the open attempt or the last
    step. Return whether there is one.
    """
    queue_id = event.queue_id
    going_on = [step for (queue, _), step in held.items() if queue == queue_id]
    before = [step for step in told if step.road.queue_id == queue_id]
    step = next(reversed([*before, *going_on]), None)
    if step is not None:
        step.hops.append(hop_of(event.detail))
        step.copy = event.detail.get("copy", step.copy)
    return step is not None


def count(step: TimelineStep, event: LifelineEvent, backouts: Counter[int]) -> None:
    """Number the attempts on a queue; a removal of an unread message has no number."""
    queue_id = event.queue_id
    if event.kind in BEGIN_AGAIN:
        backouts[queue_id] = event.detail.get("backout_count", 0)
    if step.is_removal or step.operation:
        step.attempt = None
    elif event.kind in COUNTED:
        backouts[queue_id] += 1
        step.attempt = backouts[queue_id] = event.detail.get(
            "backout_count", backouts[queue_id]
        )
    step.backouts = backouts[queue_id]


def tell(step: TimelineStep, event: LifelineEvent) -> None:
    """Add an event to a step."""
    detail = event.detail
    step.kind, step.at = event.kind, event.at
    step.actor = event.actor or step.actor
    step.error = "" if event.kind == Kind.PUT else str(detail.get("error", ""))
    step.stack = str(detail.get("stack", ""))
    step.is_delayed = event.went_to == Place.DELAYED
    if due_at := detail.get("due_at"):
        step.due_at = moments.parse(due_at)
    step.to = detail.get("to", "")
    # a transfer may have set the copy already
    step.copy = detail.get("copy", step.copy)
    step.operation = detail.get("operation")
    step.is_repaired = bool(detail.get("repaired"))
    step.why = detail.get("why", "")
    step.cause = detail.get("cause", "")
    step.reason = detail.get("reason")
    if event.kind == Kind.TRANSFER:  # the journal has no other event for this step
        step.hops.append(hop_of(detail))


def compared(told: list[TimelineStep]) -> list[TimelineStep]:
    """The same steps, each compared with the previous one."""
    for before, step in pairwise(told):
        step.after = step.began_at - before.ended_at
        step.same_error = bool(step.error) and step.error == before.error
    return told


def folded(told: list[TimelineStep]) -> list[TimelineStep]:
    """The same steps, with long runs of equal backouts shortened to their ends."""
    result: list[TimelineStep] = []
    run: list[TimelineStep] = []
    for step in told:
        if run and sort_of(step) != sort_of(run[-1]):
            result += ends_of(run)
            run = []
        run.append(step)
    return result + ends_of(run)


def sort_of(step: TimelineStep) -> object:
    """A key that is equal for equal backouts and unique for other steps."""
    if step.kind == Kind.BACK_OUT:
        return step.road.queue_id, fingerprint(step.error).key
    return id(step)


def ends_of(run: list[TimelineStep]) -> list[TimelineStep]:
    if len(run) <= 2 * STANDS + 1:
        return run
    first, middle, last = run[:STANDS], run[STANDS:-STANDS], run[-STANDS:]
    last[0].alike = middle
    return first + last
