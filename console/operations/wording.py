"""The texts of each kind of operation, and the options it needs.

One table serves the form, plan, button, progress and result; pages add numbers and
names. Placeholders: ``{n}`` the number of messages with its noun; ``{on}`` the source
queues; ``{to}`` the target queue, the new priority or the new due time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from broker.formats.quantities import write_count
from broker.models import Kind as Done
from broker.models import Operation
from broker.operations import OperationPreview, Outcome

Kind = Operation.Kind


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one kind of operation."""

    name: str  # name of the kind, in the form and in lists
    heading: str
    doing: str  # text while the operation runs
    done: str  # text after the number of processed messages
    tab: str  # heading of the list of processed messages
    plan: str  # the plan, in a sentence
    nothing: str  # the participle in “nothing has been … yet”
    goes: str = "To"  # heading of the target column; empty without targets
    hint: str = ""  # help text
    icon: str = "operations"
    asks: str = ""  # which argument the form asks for: queue, priority, time
    is_followed: bool = False  # consumers get the messages; their outcomes are followed


WORDS: dict[str, Words] = {
    Kind.RESUBMIT: Words(
        name="Resubmit",
        heading="Resubmit {n}",
        doing="Sending",
        done="sent",
        tab="Sent",
        plan="{n} will go from {on} back to {to}. Delivery attempts begin again at 0.",
        nothing="sent",
        goes="Back to",
        hint="back to the queue it came from; delivery attempts begin again at 0",
        icon="redelivery",
        asks="reach",
        is_followed=True,
    ),
    Kind.MOVE: Words(
        name="Move",
        heading="Move {n} to {to}",
        doing="Moving",
        done="moved to {to}",
        tab="Moved",
        plan="{n} will go from {on} to {to}.",
        nothing="moved",
        hint="to another queue",
        icon="in-flight",
        asks="queue",
        is_followed=True,
    ),
    Kind.COPY: Words(
        name="Copy",
        heading="Copy {n} to {to}",
        doing="Copying",
        done="copied to {to}",
        tab="Copied",
        plan="{n} will be copied to {to}. The messages on {on} do not change.",
        nothing="copied",
        hint="to another queue; the original stays here",
        icon="queues",
        asks="queue",
        is_followed=True,
    ),
    Kind.PRIORITY: Words(
        name="Change priority",
        heading="Give {n} priority {to}",
        doing="Changing",
        done="given priority {to}",
        tab="Changed",
        plan="{n} on {on} will have priority {to}.",
        nothing="changed",
        goes="",
        hint="from 0 to 9; 9 is delivered first",
        asks="priority",
    ),
    Kind.DELIVER: Words(
        name="Deliver now",
        heading="Deliver {n} now",
        doing="Making ready",
        done="made ready",
        tab="Made ready",
        plan="{n} on {on} will be ready now, before the time for which they were due.",
        nothing="made ready",
        goes="",
        hint="ready at once, before the time for which it is due",
        icon="ready",
    ),
    Kind.RESCHEDULE: Words(
        name="Change the time",
        heading="Make {n} due at {to}",
        doing="Changing",
        done="due at {to}",
        tab="Changed",
        plan="{n} on {on} will be due at {to}, instead of the time until which they"
        " wait now.",
        nothing="changed",
        goes="",
        hint="it waits until another time than that for which it is due",
        icon="delayed",
        asks="time",
    ),
    Kind.DEAD_LETTER: Words(
        name="Send to dead letters",
        heading="Send {n} to dead letters",
        doing="Sending",
        done="sent to dead letters",
        tab="Sent",
        plan="{n} on {on} will become dead letters.",
        nothing="sent",
        goes="",
        hint="as if all its delivery attempts had failed",
        icon="dead",
    ),
    Kind.EXPIRE: Words(
        name="Expire now",
        heading="Expire {n}",
        doing="Expiring",
        done="expired",
        tab="Expired",
        plan="The time to live of {n} on {on} will end.",
        nothing="expired",
        goes="",
        hint="its time to live ends at once",
        icon="gone",
    ),
    Kind.REMOVE: Words(
        name="Remove",
        heading="Remove {n}",
        doing="Removing",
        done="removed",
        tab="Removed",
        plan="{n} will go from {on} to the discard bin: no consumer gets messages"
        " there, and they can be restored until their retention is over.",
        nothing="removed",
        goes="",
        hint="off its queue and into the discard bin: archived, and restorable for a"
        " while",
        icon="discards",
    ),
}

BACK = Words(
    name="Undo",
    heading="Put {n} back",
    doing="Putting back",
    done="put back",
    tab="Put back",
    plan="{n} will go from {on} back to {to}, at the old place.",
    nothing="put back",
    goes="Back to",
    icon="backout",
)
BACK_ON = replace(
    BACK,
    plan="{n} will be on {to} again, at the old place.",
    goes="",
)
# texts of an undo, by the kind of the operation that it undoes
UNDO: dict[str, Words] = {
    Kind.RESUBMIT: BACK,
    Kind.MOVE: BACK,
    Kind.COPY: Words(
        name="Undo",
        heading="Remove the copies of {n}",
        doing="Removing",
        done="removed again",
        tab="Removed",
        plan="The copies of {n} will be removed from {on}.",
        nothing="removed",
        goes="",
        icon="backout",
    ),
    Kind.PRIORITY: Words(
        name="Undo",
        heading="Give {n} the old priority",
        doing="Changing back",
        done="given the old priority",
        tab="Changed back",
        plan="{n} on {on} will have their earlier priority.",
        nothing="changed",
        goes="",
        icon="backout",
    ),
    Kind.DELIVER: Words(
        name="Undo",
        heading="Let {n} wait again",
        doing="Delaying",
        done="delayed again",
        tab="Delayed again",
        plan="{n} on {on} will wait again for the time for which they were due.",
        nothing="changed",
        goes="",
        icon="backout",
    ),
    Kind.RESCHEDULE: Words(
        name="Undo",
        heading="Give {n} the old time",
        doing="Changing back",
        done="given the old time",
        tab="Changed back",
        plan="{n} on {on} will wait again for the time for which they were due.",
        nothing="changed",
        goes="",
        icon="backout",
    ),
    Kind.DEAD_LETTER: BACK_ON,
    Kind.EXPIRE: BACK_ON,
    Kind.REMOVE: BACK_ON,
}

# text after the number of messages that would be skipped
OUTLOOKS: dict[Outcome, str] = {
    Outcome.PROCESSED: "already processed",
    Outcome.HELD: "with a consumer",
    Outcome.BUSY: "being taken by a consumer or another operation",
    Outcome.EXPIRED: "expired",
    Outcome.NO_WAY_BACK: "without a queue to go to",
    Outcome.REFUSED: "refused where they would go",
    Outcome.INHIBITED: "for a queue that is put-inhibited",
    Outcome.FULL: "for a queue that is full",
    Outcome.NOT_DELAYED: "not delayed",
    Outcome.DELIVERED: "delivered since",
    Outcome.CHANGED: "changed since by another operation",
    Outcome.MOVED_ON: "moved since",
    Outcome.DUE: "due by now",
    Outcome.NOT_STORED: "no longer stored",
    Outcome.NOT_IN_BIN: "no longer in the discard bin",
    Outcome.UNCHANGED: "that the patch would not change",
    Outcome.GUARD_FAILED: "that fail a test of the patch",
    Outcome.NO_SUCH_PATH: "without what the patch would change",
    Outcome.NOT_JSON: "whose body is no JSON",
    Outcome.TOO_LARGE: "too large to be patched",
    Outcome.LOCKED: "with headers of IBM MQ that the patch cannot change",
    Outcome.GONE: "gone",
}
# text of a step in a message's timeline, before the operation's number
DEEDS: dict[Done, str] = {
    Done.RESUBMIT: "Resubmitted to {to}",
    Done.MOVE: "Moved to {to}",
    Done.REMOVE: "Removed from {on}",
    Done.EXPIRE: "Expired at once",
    Done.DEAD_LETTER: "Sent to the dead letters on {to}",
    Done.DISCARD: "Sent to the dead letters: discarded, no dead letter address is set",
    Done.REPRIORITIZE: "Given another priority",
    Done.WAKE: "Made ready before its time",
    Done.RESCHEDULE: "Given another time at which it is due",
    Done.UNDO: "Taken back from {on}",
    Done.REINSTATE: "Put back on {on}",
    Done.RELEASE: "Left on {on}: the target queue did not accept it",
}
OUTLOOKS_OF_UNDO = OUTLOOKS | {Outcome.GONE: "unknown"}
ADDRESSES: dict[str, str] = {  # addresses without which the operation drops messages
    Kind.DEAD_LETTER: "dead letter address",
    Kind.EXPIRE: "expiry address",
}
ALWAYS_OF_UNDO = {Outcome.PROCESSED, Outcome.GONE}  # shown even if their number is 0


def words_of(operation: Operation) -> Words:
    table = WORDS if operation.undoes_id is None else UNDO
    return table[operation.kind]


def places(names: set[str]) -> str:
    """Queues in a sentence; by name if there is only one."""
    if len(names) > 1:
        return f"{len(names)} queues"
    return next(iter(names), "") or "a queue that is gone"


@dataclass(frozen=True, slots=True)
class OperationSentences:
    """The sentences of one operation."""

    words: Words
    total: int
    will_go: int  # of a plan: how many can be processed now
    done: int
    on: str
    to: str
    is_undo: bool

    @property
    def heading(self) -> str:
        """The page's heading: of all messages of the plan."""
        return self.filled(self.words.heading, self.total)

    @property
    def button(self) -> str:
        """The label of the button that starts a plan."""
        return self.filled(self.words.heading, self.will_go)

    @property
    def title(self) -> str:
        if self.is_undo:
            return f"Undo: {self.heading[0].lower()}{self.heading[1:]}"
        return self.heading

    @property
    def plan(self) -> str:
        return self.filled(self.words.plan, self.will_go)

    @property
    def result(self) -> str:
        return f"{self.done:,} {self.filled(self.words.done, self.done)}"

    def filled(self, text: str, count: int) -> str:
        return text.format(n=write_count(count, "message"), on=self.on, to=self.to)


def outlook(operation: Operation, seen: OperationPreview) -> list[tuple[int, str]]:
    """The expected result of a start now: numbers with labels. The messages that can be
    processed come first, those that are gone come last.
    """
    is_undo = operation.undoes_id is not None
    table = OUTLOOKS_OF_UNDO if is_undo else OUTLOOKS
    always = ALWAYS_OF_UNDO if is_undo else set()
    counts = seen.counts
    parts = [(counts[one], table[one]) for one in table if counts[one] or one in always]
    return [(seen.will_go, f"can be {words_of(operation).nothing}"), *parts]


def dropped(operation: Operation, seen: OperationPreview) -> Counter[str]:
    """How many messages of each queue would be dropped for lack of an address."""
    ends = Counter[str]()
    if operation.undoes_id is None and operation.kind in ADDRESSES:
        for part in seen.parts:
            if part.outcome is Outcome.WILL_GO and not part.target:
                ends[part.queue] += part.messages
    return ends
