"""What an operator may order, and to which entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from broker.formats.filters import KEYS, Filter, Term
from broker.formats.filters.values import Is
from broker.models import Operation, Place
from broker.monitoring.dead_letters import Selection

Entry = tuple[int, int]  # message and queue


@dataclass(frozen=True, slots=True)
class Only:
    """Not all that was chosen, but so many: the first of them, or any."""

    messages: int  # from 1
    sampled: bool = False  # any


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done."""

    kind: Operation.Kind
    argument: str = ""  # the queue of a move or a copy, or the new priority, "0" to "9"
    only: Only | None = None  # none: all that was chosen


@dataclass(frozen=True, slots=True)
class Chosen:
    """To which entries: those that everything here chooses. What is None or empty
    chooses by nothing; a queue, messages or dead letters have to be named.

    Only what is ready or delayed can be chosen, never what a consumer holds.
    """

    queue: str | None = None  # by its name: what lies there
    place: Place | None = None  # only READY, or only DELAYED
    selector: str = ""  # of JMS
    ids: tuple[int, ...] = ()  # of messages, on whatever queues
    letters: Selection | None = None  # dead letters that lie ready, as triage has them


@dataclass(frozen=True, slots=True)
class Sought:
    """To which entries: those that a filter finds, of what can be chosen."""

    filter: Filter
    within: Mapping[int, str] = field(hash=False)  # queues: their names, by id
    only: frozenset[Entry] | None = None  # of these

    @classmethod
    def named(cls, entries: Iterable[Entry], names: Mapping[int, str]) -> Self:
        """Just these entries, on those of the queues that may be looked at.

        Args:
            entries: by message and queue.
            names: of the queues, by id.
        """
        only = frozenset(entries)
        queues = {queue_id for _, queue_id in only}
        within = {pk: name for pk, name in names.items() if pk in queues}
        ids = {message_id for message_id, _ in only}
        return cls(cls.numbered(ids, within).filter, within, only)

    @classmethod
    def numbered(cls, message_ids: Iterable[int], names: Mapping[int, str]) -> Self:
        """These messages, on those of the queues that may be looked at."""
        ids = tuple(map(Is, sorted(set(message_ids))))
        return cls(Filter((Term(KEYS["id"], ids),)), names)

    def keeps(self, entry: Entry) -> bool:
        return self.only is None or entry in self.only
