"""What declarations would change: each object created, altered or deleted, attribute by
attribute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from broker.config.imports import Difference
from broker.declarations.kinds import ADDRESS, QUEUE
from broker.declarations.object_kind import Key, ObjectKind, Values
from broker.errors.settings import ObjectInUse, WrongSettings
from broker.models import Address, Queue
from broker.queueing import journal

HIDDEN = "(secret)"
Verb = Literal["create", "alter", "delete"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """The desired state of one object."""

    kind: ObjectKind
    key: Key
    # The attributes to set. Other attributes keep their value; in a new object, they
    # have their default.
    values: Values = field(default_factory=dict)
    absent: bool = False  # whether the object is to be deleted
    # Whether the messages of a deleted queue go to the discard bin.
    purge: bool = False
    # Place of the declaration in its document.
    where: str = field(default="", compare=False)

    @property
    def id(self) -> tuple[str, Key]:
        return self.kind.name, self.key

    @property
    def place(self) -> str:
        return self.where or f"{self.kind.name} {' '.join(self.key)}"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """The change of one object."""

    verb: Verb
    kind: ObjectKind
    key: Key
    differences: Sequence[Difference]
    values: Values  # the attributes to set
    messages: int = 0  # number of messages on a queue that is deleted
    purge: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.kind.name} {' '.join(self.key)}"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The changes that declarations make now, in the order in which they are made."""

    changes: Sequence[ObjectChange]
    declarations: Sequence[Declaration]

    @property
    def token(self) -> str:
        """A digest of the changes; the number of messages does not count."""
        said = [
            (str(one), one.purge, [repr(part) for part in one.differences])
            for one in self.changes
        ]
        return hashlib.sha256(repr(said).encode()).hexdigest()


def plan(
    declarations: Iterable[Declaration],
    *,
    prune: Collection[ObjectKind] = (),
    purge: bool = False,
) -> ChangePlan:
    """Compare declarations with what is stored; nothing is changed.

    Args:
        declarations: what is to be.
        prune: kinds of which everything that is not declared is to be deleted.
        purge: messages of all queues to delete go to the discard bin.

    Raises:
        WrongSettings: something is declared twice, or cannot be stored.
        ObjectInUse: an object cannot be deleted.
    """
    wanted = list(declarations)
    refuse_twice(wanted)
    needed = set(needed_by(wanted))
    wanted += list(undeclared(wanted, needed, prune))
    wanted += list(addresses_to_create(wanted, needed))
    wanted += list(addresses_to_delete(wanted, needed))
    if purge:
        wanted = [replace(one, purge=one.absent) for one in wanted]
    made = [one for one in wanted if not one.absent]
    going = [one for one in wanted if one.absent]
    made.sort(key=lambda one: one.kind.rank)
    going.sort(key=lambda one: -one.kind.rank)
    ids = frozenset(one.id for one in going)
    changes = [
        *filter(None, map(making, made)),
        *filter(None, (deletion(one, ids) for one in going)),
    ]
    return ChangePlan(changes, wanted)


def refuse_twice(wanted: Iterable[Declaration]) -> None:
    seen = set()
    for one in wanted:
        if one.id in seen:
            raise WrongSettings(one.place, "It is declared twice. Leave one out.")
        seen.add(one.id)


def undeclared(
    wanted: Sequence[Declaration], needed: set[str], prune: Collection[ObjectKind]
) -> Iterator[Declaration]:
    """Deletions of stored objects that are not declared."""
    named = {one.id for one in wanted}
    named |= {(ADDRESS.name, (address,)) for address in needed}
    for kind in prune:
        for row in kind.rows() if kind.can_be_pruned else ():
            one = Declaration(kind, kind.key_of(row), absent=True)
            if one.id not in named:
                yield one


def needed_by(wanted: Iterable[Declaration]) -> Iterator[str]:
    """Names of the addresses that the declared queues need."""
    queues = [one for one in wanted if one.kind is QUEUE and not one.absent]
    rows = Queue.objects.filter(name__in=[one.key[0] for one in queues])
    present = dict(rows.values_list("name", "address__name"))
    for one in queues:
        name = one.key[0]
        yield one.values.get("address") or present.get(name, name)


def addresses_to_create(
    wanted: Sequence[Declaration], needed: set[str]
) -> Iterator[Declaration]:
    """The addresses of declared queues, where they are missing and not declared."""
    named = {one.id for one in wanted}
    stored = Address.objects.filter(name__in=needed).values_list("name", flat=True)
    for address in sorted(needed - set(stored)):
        one = Declaration(ADDRESS, (address,))
        if one.id not in named:
            yield one


def addresses_to_delete(
    wanted: Sequence[Declaration], needed: set[str]
) -> Iterator[Declaration]:
    """The address of a queue to delete, if it has the same name and feeds nothing else:
    what is sent to an address without a queue is lost, and nobody is told."""
    named = {one.id for one in wanted}
    for one in wanted:
        address = Declaration(ADDRESS, one.key, absent=True)
        if one.kind is not QUEUE or not one.absent or address.id in named:
            continue
        feeding = Queue.objects.filter(address__name=one.key[0])
        others = feeding.exclude(name__in=[k[0] for n, k in named if n == QUEUE.name])
        if one.key[0] not in needed and feeding.exists() and not others.exists():
            yield address


def making(one: Declaration) -> ObjectChange | None:
    """The change that creates or alters an object; None if it is as declared."""
    kind = one.kind
    row = kind.named(one.key).first()
    is_new = row is None
    before = kind.defaults(one.key) if is_new else kind.values_of(row)
    for name in kind.secrets & one.values.keys():
        before[name] = "" if is_new else kind.secret_of(row, name)
    if is_new:
        refuse_key(one)
        row = kind.new(one.key, one.place)
    values = dict(one.values)
    if is_new:
        values = before | {k: v for k, v in values.items() if v is not None}
    differences = [
        Difference(
            name,
            None if is_new else hidden(kind, name, before[name]),
            hidden(kind, name, value),
        )
        for name, value in values.items()
        if value != before[name] or (is_new and name == "address")
    ]
    # A declared object must not be deleted when it is idle, as auto-created objects
    # are.
    if getattr(row, "auto_created", False):
        differences.append(Difference("auto_created", before=True, after=False))
    if not (differences or is_new):
        return None
    kind.fill(row, values)
    kind.check(row, one.place)
    changed = {part.field: values.get(part.field, part.after) for part in differences}
    verb: Verb = "create" if is_new else "alter"
    return ObjectChange(verb, kind, one.key, differences, values if is_new else changed)


def hidden(kind: ObjectKind, name: str, value: Any) -> Any:
    """A value to be shown: a secret is not."""
    return HIDDEN if value and name in kind.secrets else value


def refuse_key(one: Declaration) -> None:
    for part in one.key:
        if not part or not part.isprintable():
            why = "A name cannot be empty, or have characters that cannot be seen."
            raise WrongSettings(one.place, why)


def deletion(
    one: Declaration, going: frozenset[tuple[str, Key]]
) -> ObjectChange | None:
    """The change that deletes an object; None if there is none.

    Raises:
        ObjectInUse: it cannot be deleted.
    """
    row = one.kind.named(one.key).first()
    if row is None:
        return None
    why = one.kind.obstacle(row, going)
    if why:
        raise ObjectInUse(one.kind.noun, " ".join(one.key), why)
    messages = depth(row).total if isinstance(row, Queue) else 0
    defaults = one.kind.defaults(one.key)
    differences = [
        Difference(name, value, None)
        for name, value in one.kind.values_of(row).items()
        if value != defaults[name]
    ]
    return ObjectChange(
        "delete", one.kind, one.key, differences, {}, messages, one.purge
    )


def depth(queue: Queue) -> journal.Depth:
    """The number of messages on a queue now."""
    return journal.depths([queue.pk]).get(queue.pk, journal.Depth())


def version(kind: ObjectKind, row: Any) -> str:
    """A digest of an object's key and attributes."""
    sealed = row.secret if kind.secrets else ""
    said = json.dumps(
        [kind.key_of(row), kind.values_of(row), sealed], ensure_ascii=False
    )
    return hashlib.sha256(said.encode()).hexdigest()[:32]
