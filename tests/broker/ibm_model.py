"""What ought to be where when consumers handle poison messages, as IBM MQ's do.

Built on the other model. Backouts only count here; the consumer moves a message when it
meets it again. Marks, moves that wait for a commit, and room on the targets are kept by
the model's own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import strategies as st

from broker.errors.mq_codes import Report
from broker.models import Message
from broker.transactions.scope import UnitOfWork
from tests.broker.model import Model, Place, Unit
from tests.make import minutes

NEVER = 10**9  # attempts: the broker itself moves nothing


@dataclass(frozen=True)
class Sent:
    """What a message's sender wished."""

    discard: bool = False  # rather than dead-letter
    report: bool = False
    durable: bool = True


WISHES = st.builds(
    Sent, discard=st.booleans(), report=st.booleans(), durable=st.booleans()
)


class Session(Unit):
    """A unit of work with what a transacted session knows besides its messages."""

    def __init__(self, number: int, work: UnitOfWork, began: datetime) -> None:
        super().__init__(number, work, began)
        self.mark: int | None = None
        self.marked = False
        self.removing: list[int] = []
        self.answers = 0  # puts that wait for the commit
        self.put_at: datetime | None = None  # the first of them
        self.is_late = False  # it only put, and then took too long

    def put_answer(self, now: datetime) -> None:
        self.work.now = now
        self.work.put("answers")
        self.answers += 1
        self.put_at = self.put_at or now

    def wait(self, now: datetime) -> None:
        if self.open and self.work.id is None and self.put_at is not None:
            self.is_late = now - self.put_at >= minutes(5)
            self.open = not self.is_late


class IbmModel(Model):
    """Where every message ought to be, by its id."""

    def __init__(
        self, now: datetime, *, threshold: int, delayed: bool, room: dict[str, int]
    ) -> None:
        super().__init__(now, attempts=NEVER, delayed=delayed)
        self.threshold = threshold
        self.room = room
        self.wishes: dict[int, Sent] = {}
        self.bin: set[int] = set()
        self.sessions: list[Session] = []

    # What the model does.

    def opened(self, work: UnitOfWork) -> Session:
        self.sessions.append(Session(next(self.numbers), work, self.now))
        return self.sessions[-1]

    def commit(self, session: Session) -> None:
        """What was to be removed is moved, in order; the rest has ended."""
        for one in session.removing:
            self.remove(one)
        self.places = {k: p for k, p in self.places.items() if p.unit != session.number}
        session.open = False

    def remove(self, one: int) -> None:
        """By the chain: backout queue, then as the sender wished, then the bin."""
        if self.has_room("BOQ"):
            self.moved(one, "BOQ")
        elif not self.wishes[one].discard and self.has_room("DEAD"):
            self.moved(one, "DEAD")
        else:
            self.bin.add(one)
            del self.places[one]

    def dispose(self, one: int) -> str | None:
        """As a ConnectionConsumer does; where the report goes, if one is put.

        A report that fits nowhere takes the move back. Then what is persistent stays in
        hand ("stuck"), and the rest goes to the bin untold.
        """
        if self.has_room("BOQ"):
            self.moved(one, "BOQ")
            return None
        wish = self.wishes[one]
        left = self.room["DEAD"] - self.depth("DEAD") - (not wish.discard)
        report_to = "reports" if self.has_room("reports") else "DEAD"
        fits = left >= 0 or wish.discard
        if fits and wish.report and report_to == "DEAD" and left < 1:
            fits = False
        if not fits and wish.durable:
            return "stuck"
        if fits and not wish.discard:
            self.moved(one, "DEAD")
        else:
            self.bin.add(one)
            del self.places[one]
        return report_to if fits and wish.report else None

    def moved(self, one: int, queue: str) -> None:
        (copy,) = Message.objects.filter(copied_from=one)
        place = self.places.pop(one)
        self.wishes[copy.pk] = self.wishes[one]
        self.places[copy.pk] = Place(
            next(self.numbers), place.priority, queue=queue, expires=place.expires
        )

    def skipped(self, session: Session, after: Session) -> None:
        """A backout by the application: all return but the marked one."""
        if session.mark is not None and session.mark in self.of(session):
            self.places[session.mark] = replace(
                self.places[session.mark], unit=after.number
            )
            self.units[after.number] = after
        else:
            after.open = False
        self.returns(session)

    # What the model knows.

    def has_room(self, queue: str) -> bool:
        return self.depth(queue) < self.room[queue]

    def depth(self, queue: str) -> int:
        return sum(place.queue == queue for place in self.places.values())

    def is_poison(self, one: int) -> bool:
        return 0 < self.threshold <= self.places[one].backouts

    def wait(self, span: timedelta) -> None:
        self.now += span
        for session in self.sessions:
            session.wait(self.now)


def report_of(wish: Sent) -> int:
    """The report options of a message whose sender wishes this."""
    wanted = Report.EXCEPTION if wish.report else Report.NONE
    return int(wanted | (Report.DISCARD_MSG if wish.discard else Report.NONE))
