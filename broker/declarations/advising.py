"""Warnings on what declarations make: those of ``broker.config.lint``, before they are
applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from broker.config import configuration
from broker.config.advice import Advice
from broker.config.circles import of_circles
from broker.config.configuration import Changes, QueueRow
from broker.config.lint import advice
from broker.declarations.kinds import ADDRESS, ALIAS, MODEL, QUEUE, SETTING
from broker.declarations.object_kind import Key, ObjectKind, Values
from broker.declarations.planning import ChangePlan, Declaration, ObjectChange

NOTED = (ADDRESS, QUEUE, ALIAS, MODEL, SETTING)
Item = TypeVar("Item", ObjectChange, Declaration)


def advise(plan: ChangePlan) -> list[Advice]:
    """The warnings that a plan adds to the present warnings."""
    to_be = Changes()
    for one in about(plan.changes):
        row = one.kind.named(one.key).first() or one.kind.new(one.key, str(one))
        note(
            to_be, one.kind, one.key, row, None if one.verb == "delete" else one.values
        )
    if to_be == Changes():
        return []
    before = set(advice())
    after = advice(configuration.stored(to_be))
    return [one for one in after if one not in before]


def circles_in(declarations: Iterable[Declaration]) -> list[Advice]:
    """The circles of moves in a document, as if nothing else were stored. No query."""
    to_be = Changes()
    for one in about(declarations):
        values = None if one.absent else one.values
        note(to_be, one.kind, one.key, one.kind.new(one.key, one.place), values)
    return list(of_circles(configuration.alone(to_be)))


def about(every: Iterable[Item]) -> Iterator[Item]:
    """The changes or declarations of kinds about which there are warnings."""
    return (one for one in every if one.kind in NOTED)


def note(
    to_be: Changes, kind: ObjectKind, key: Key, row: Any, values: Values | None
) -> None:
    """Note the future state of an object; without values, it is deleted."""
    name, is_gone = key[0], values is None
    kind.fill(row, values or {})
    if kind is QUEUE:
        to_be.queues[name] = None if is_gone else queue_row(row, name, values or {})
    elif kind is ADDRESS:
        to_be.addresses[name] = None if is_gone else name
    elif kind is ALIAS:
        to_be.aliases[name] = None if is_gone else row.target
    elif kind is MODEL:
        to_be.models[name] = None if is_gone else row
    elif kind is SETTING:
        to_be.rules[name] = None if is_gone else row


def queue_row(row: Any, name: str, values: Values) -> QueueRow:
    address = values.get("address") or (row.address.name if row.address_id else name)
    kept = [one for one in QueueRow._fields if one != "address"]
    return QueueRow(address=address, **{one: getattr(row, one) for one in kept})
