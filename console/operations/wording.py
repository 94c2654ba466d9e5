"""Sentences about operations: plans, previews and results, with numbers and names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop, ngettext

from broker.formats.quantities import write_count
from broker.models import Kind as Done
from broker.models import Operation
from broker.operations import OperationPreview, Outcome
from console.operations.undo_words import UNDO
from console.operations.words import WORDS, Kind, Numbered, Words

# text after the number of messages that would be skipped
OUTLOOKS: dict[Outcome, str] = {
    Outcome.PROCESSED: gettext_noop("already processed"),
    Outcome.HELD: gettext_noop("with a consumer"),
    Outcome.BUSY: gettext_noop("being taken by a consumer or another operation"),
    Outcome.EXPIRED: gettext_noop("expired"),
    Outcome.NO_WAY_BACK: gettext_noop("without a queue to go to"),
    Outcome.REFUSED: gettext_noop("refused where they would go"),
    Outcome.INHIBITED: gettext_noop("for a queue that is put-inhibited"),
    Outcome.FULL: gettext_noop("for a queue that is full"),
    Outcome.NOT_DELAYED: gettext_noop("not delayed"),
    Outcome.DELIVERED: gettext_noop("delivered since"),
    Outcome.CHANGED: gettext_noop("changed since by another operation"),
    Outcome.MOVED_ON: gettext_noop("moved since"),
    Outcome.DUE: gettext_noop("due by now"),
    Outcome.NOT_STORED: gettext_noop("no longer stored"),
    Outcome.NOT_IN_BIN: gettext_noop("no longer in the discard bin"),
    Outcome.UNCHANGED: gettext_noop("that the patch would not change"),
    Outcome.GUARD_FAILED: gettext_noop("that fail a test of the patch"),
    Outcome.NO_SUCH_PATH: gettext_noop("without what the patch would change"),
    Outcome.NOT_JSON: gettext_noop("whose body is no JSON"),
    Outcome.TOO_LARGE: gettext_noop("too large to be patched"),
    Outcome.LOCKED: gettext_noop("with headers of IBM MQ that the patch cannot change"),
    Outcome.GONE: gettext_noop("gone"),
}
# text of a step in a message's timeline, before the operation's number
DEEDS: dict[Done, str] = {
    Done.RESUBMIT: gettext_noop("Resubmitted to {to}"),
    Done.MOVE: gettext_noop("Moved to {to}"),
    Done.REMOVE: gettext_noop("Removed from {on}"),
    Done.EXPIRE: gettext_noop("Expired at once"),
    Done.DEAD_LETTER: gettext_noop("Sent to the dead letters on {to}"),
    Done.DISCARD: gettext_noop(
        "Sent to the dead letters: discarded, no dead letter address is set"
    ),
    Done.REPRIORITIZE: gettext_noop("Given another priority"),
    Done.WAKE: gettext_noop("Made ready before its time"),
    Done.RESCHEDULE: gettext_noop("Given another time at which it is due"),
    Done.UNDO: gettext_noop("Taken back from {on}"),
    Done.REINSTATE: gettext_noop("Put back on {on}"),
    Done.RELEASE: gettext_noop("Left on {on}: the target queue did not accept it"),
}
OUTLOOKS_OF_UNDO = OUTLOOKS | {Outcome.GONE: gettext_noop("unknown")}
# warnings of kinds that drop messages without an address
ADDRESSES: dict[str, Numbered] = {
    Kind.DEAD_LETTER: lambda n: ngettext(
        "%(queue)s has no dead letter address: %(n)s message would be on no queue any"
        " more. Set the address under Settings first to keep them.",
        "%(queue)s has no dead letter address: %(n)s messages would be on no queue any"
        " more. Set the address under Settings first to keep them.",
        n,
    ),
    Kind.EXPIRE: lambda n: ngettext(
        "%(queue)s has no expiry address: %(n)s message would be on no queue any more."
        " Set the address under Settings first to keep them.",
        "%(queue)s has no expiry address: %(n)s messages would be on no queue any more."
        " Set the address under Settings first to keep them.",
        n,
    ),
}
ALWAYS_OF_UNDO = {Outcome.PROCESSED, Outcome.GONE}  # shown even if their number is 0


def words_of(operation: Operation) -> Words:
    table = WORDS if operation.undoes_id is None else UNDO
    return table[operation.kind]


def places(names: set[str]) -> str:
    """Queues in a sentence; by name if there is only one."""
    if len(names) > 1:
        queues = ngettext("%(n)s queue", "%(n)s queues", len(names))
        return queues % {"n": len(names)}
    return next(iter(names), "") or gettext("a queue that is gone")


@dataclass(frozen=True, slots=True)
class OperationSentences:
    """The sentences of one operation."""

    words: Words
    total: int
    will_go: int  # of a plan: how many can be processed now
    done: int
    on: str
    to: str

    @property
    def title(self) -> str:
        """The page's heading: of all messages of the plan."""
        title = self.words.title or self.words.heading
        return self.filled(title(self.total), self.total)

    @property
    def button(self) -> str:
        """The label of the button that starts a plan."""
        return self.filled(self.words.heading(self.will_go), self.will_go)

    @property
    def plan(self) -> str:
        return self.filled(self.words.plan(self.will_go), self.will_go)

    @property
    def result(self) -> str:
        return self.filled(gettext(self.words.done), self.done)

    @property
    def nothing(self) -> str:
        """The participle in “nothing has been … yet”."""
        return gettext(self.words.nothing)

    @property
    def tab(self) -> str:
        """The heading of the list of processed messages."""
        return gettext(self.words.tab)

    @property
    def goes(self) -> str:
        """The heading of the target column, if there is one."""
        return gettext(self.words.goes) if self.words.goes else ""

    def filled(self, text: str, count: int) -> str:
        return text % {"n": write_count(count), "on": self.on, "to": self.to}


def outlook(operation: Operation, seen: OperationPreview) -> list[tuple[int, str]]:
    """The expected result of a start now: numbers with labels. The messages that can be
    processed come first, those that are gone come last.
    """
    is_undo = operation.undoes_id is not None
    table = OUTLOOKS_OF_UNDO if is_undo else OUTLOOKS
    always = ALWAYS_OF_UNDO if is_undo else set()
    counts = seen.counts
    parts = [
        (counts[one], gettext(table[one]))
        for one in table
        if counts[one] or one in always
    ]
    done = gettext(words_of(operation).nothing)
    return [(seen.will_go, gettext("can be %(done)s") % {"done": done}), *parts]


def dropped(operation: Operation, seen: OperationPreview) -> Counter[str]:
    """How many messages of each queue would be dropped for lack of an address."""
    ends = Counter[str]()
    if operation.undoes_id is None and operation.kind in ADDRESSES:
        for part in seen.parts:
            if part.outcome is Outcome.WILL_GO and not part.target:
                ends[part.queue] += part.messages
    return ends
