"""The configuration that warnings are about: as it is stored, or as a plan would leave
it, or as a document alone declares it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from django.conf import settings
from django.db.models import Q

from broker.config import transfers
from broker.config.address_settings import merge
from broker.config.transfers import Transfer
from broker.models import AddressSetting, ModelQueue, Queue, QueueAlias

Row = TypeVar("Row")


class QueueRow(NamedTuple):
    """The attributes of a queue that warnings are about."""

    pk: int | None  # None: the queue is not stored yet
    name: str
    address: str
    kind: int = Queue.Kind.LOCAL
    selector: str = ""
    backout_threshold: int = 0
    backout_queue: str = ""
    max_depth: int | None = None
    max_message_bytes: int | None = None
    put_inhibited: bool = False


COLUMNS = ["address__name" if each == "address" else each for each in QueueRow._fields]
MOVES = Q(backout_threshold__gt=0) | ~Q(backout_queue="")


@dataclass(frozen=True, slots=True)
class Changes:
    """The future state of objects, by name; None: the object will be deleted."""

    rules: dict[str, AddressSetting | None] = field(default_factory=dict)
    models: dict[str, ModelQueue | None] = field(default_factory=dict)
    aliases: dict[str, str | None] = field(default_factory=dict)
    queues: dict[str, QueueRow | None] = field(default_factory=dict)
    addresses: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings, and the queues that settings, queues and transfers name."""

    rules: Sequence[AddressSetting]
    models: Sequence[ModelQueue]
    aliases: Mapping[str, str]  # targets, by name of the alias
    queues: Mapping[str, QueueRow]
    transfers: Sequence[Transfer]
    changes: Changes = field(default_factory=Changes)
    _merged: dict[str, AddressSetting] = field(default_factory=dict)
    _fed: dict[str, list[QueueRow]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.queues.values():
            self._fed.setdefault(one.address, []).append(one)

    def merged(self, address: str) -> AddressSetting:
        """The merged settings of an address."""
        if address not in self._merged:
            self._merged[address] = merge(address, self.rules)
        return self._merged[address]

    def queue(self, name: str) -> QueueRow | None:
        """The queue that a name refers to; by the same rules as
        ``broker.config.names``."""
        target = self.aliases.get(name, "")
        found = self.queues.get(name) or self.queues.get(target)
        fed = [] if found else self.fed_by(target)
        return fed[0] if len(fed) == 1 else found

    def fed_by(self, address: str) -> list[QueueRow]:
        """The queues of an address, if anything moves messages to it."""
        return self._fed.get(address, [])


def stored(changes: Changes | None = None) -> Configuration:
    """The stored configuration, with changes that are planned. Five queries, which read
    only queues that move messages or that messages are moved to; and those of the
    transfers."""
    to_be = changes or Changes()
    rules = {one.match: one for one in AddressSetting.objects.all()}
    models = {one.name: one for one in ModelQueue.objects.all()}
    aliases = dict(QueueAlias.objects.values_list("name", "target"))
    rules, models = changed(rules, to_be.rules), changed(models, to_be.models)
    aliases = changed(aliases, to_be.aliases)
    moving = changed(rows(MOVES), to_be.queues)
    carried = transfers.stored()
    named = {
        settings.BROKER_DEAD_LETTER_QUEUE,
        *aliases.values(),
        *(to for one in rules.values() for to in targets_of(one)),
        *(one.backout_queue for one in models.values()),
        *(one.backout_queue for one in moving.values()),
        *(end.name for one in carried for end in one[:2] if end.kind),
    }
    beside = Q(address__queues__name__in={one.target.name for one in carried})
    meant = rows(Q(name__in=named) | Q(address__name__in=named) | beside)
    queues = changed(moving | meant, to_be.queues)
    ordered = dict(sorted(queues.items()))
    return Configuration(
        list(rules.values()), list(models.values()), aliases, ordered, carried, to_be
    )


def alone(changes: Changes) -> Configuration:
    """The configuration that has only these changes, without stored objects. No
    query."""
    nothing: dict[str, str] = {}
    rules, models = changed({}, changes.rules), changed({}, changes.models)
    return Configuration(
        list(rules.values()),
        list(models.values()),
        changed(nothing, changes.aliases),
        dict(sorted(changed({}, changes.queues).items())),
        [],
        changes,
    )


def changed(now: Mapping[str, Row], to_be: Mapping[str, Row | None]) -> dict[str, Row]:
    """Objects by name, after changes."""
    found = {name: row for name, row in now.items() if name not in to_be}
    return found | {name: row for name, row in to_be.items() if row is not None}


def targets_of(rule: AddressSetting) -> Iterable[str]:
    """The addresses that a setting names for messages to go to."""
    return filter(None, (rule.dead_letter_address, rule.expiry_address))


def rows(which: Q) -> dict[str, QueueRow]:
    found = Queue.objects.filter(which).values_list(*COLUMNS)
    return {one.name: one for one in map(QueueRow._make, found)}


def whole() -> Configuration:
    """The stored configuration with every queue, whether anything moves its messages or
    not; without model queues. Three queries, and those of the transfers."""
    rules = list(AddressSetting.objects.all())
    aliases = dict(QueueAlias.objects.values_list("name", "target"))
    return Configuration(rules, (), aliases, rows(Q()), transfers.stored())
