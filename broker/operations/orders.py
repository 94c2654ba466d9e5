"""What an operator may order, and to which entries."""

from __future__ import annotations

from dataclasses import dataclass

from broker.models import Operation, Place
from broker.triage import Selection


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done."""

    kind: Operation.Kind
    argument: str = ""  # the queue of a move or a copy, or the new priority, "0" to "9"


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
