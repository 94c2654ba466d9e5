"""The command of an operation: the action, and the selection of its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from broker.errors.operations import InvalidDueTime, InvalidPriority
from broker.formats import moments
from broker.formats.filters import COPY, Filter, Term
from broker.formats.filters.values import Is
from broker.models import Operation, Place
from broker.monitoring.dead_letters import Selection

Entry = tuple[int, int]  # message id and queue id
# The argument of a resubmit that reaches the other queues of the address, too.
EVERY_QUEUE = "every queue"
PRIORITIES = frozenset("0123456789")
LATEST = timedelta(days=366)  # no time that a person sets is further away


@dataclass(frozen=True, slots=True)
class Only:
    """A limit of a selection: a number of entries, either the first or a random
    sample."""

    messages: int  # number of entries, from 1
    sampled: bool = False  # True: a random sample; False: the first entries


@dataclass(frozen=True, slots=True)
class Order:
    """What to do with the selected entries."""

    kind: Operation.Kind
    # The queue of a move or a copy; the new priority, "0" to "9"; the new due time, in
    # ISO 8601 with its offset; of a resubmit, empty or EVERY_QUEUE.
    argument: str = ""
    only: Only | None = None  # None: all selected entries

    def check_argument(self, now: datetime) -> None:
        """Refuse a priority or a due time that no message can be given.

        Raises:
            InvalidPriority: the priority is not from 0 to 9.
            InvalidDueTime: the due time is missing, past or too far away.
        """
        match self.kind:
            case Operation.Kind.PRIORITY if self.argument not in PRIORITIES:
                raise InvalidPriority(self.argument)
            case Operation.Kind.RESCHEDULE:
                at = moments.parse(self.argument) if self.argument else now
                if not now < at <= now + LATEST:
                    raise InvalidDueTime


# Places whose entries can be selected; claimed entries are never selected.
SELECTABLE = (Place.READY, Place.DELAYED)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selection of entries by all of these conditions. A field that is None or empty
    is no condition. A queue, messages or dead letters must be given.

    It selects only ready and delayed entries, never claimed entries.
    """

    queue: str | None = None  # name of the queue of the entries
    place: Place | None = None  # only READY, or only DELAYED
    selector: str = ""  # a JMS selector
    ids: tuple[int, ...] = ()  # ids of messages, on any queue
    letters: Selection | None = None  # dead letters that are ready


@dataclass(frozen=True, slots=True)
class Sought:
    """A selection of the entries that match a filter and are ready or delayed."""

    filter: Filter
    # Names of the queues to search, by id.
    within: Mapping[int, str] = field(hash=False)
    only: frozenset[Entry] | None = None  # restricts the selection to these entries

    @classmethod
    def named(cls, entries: Iterable[Entry], names: Mapping[int, str]) -> Self:
        """Exactly these entries, on the given queues.

        Args:
            entries: pairs of message id and queue id.
            names: of the queues to search, by id.
        """
        only = frozenset(entries)
        queues = {queue_id for _, queue_id in only}
        within = {pk: name for pk, name in names.items() if pk in queues}
        ids = {message_id for message_id, _ in only}
        return cls(cls.numbered(ids, within).filter, within, only)

    @classmethod
    def numbered(cls, message_ids: Iterable[int], names: Mapping[int, str]) -> Self:
        """The selection of the copies with exactly these ids, on the given queues."""
        ids = tuple(map(Is, sorted(set(message_ids))))
        return cls(Filter((Term(COPY, ids),)), names)

    def keeps(self, entry: Entry) -> bool:
        return self.only is None or entry in self.only
