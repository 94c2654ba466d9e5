"""What was put, and what died, as tests see it."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from broker.models import DeadLetter, Delayed, Discarded, Message
from broker.queueing.put import NewMessage

ANY: Any = object()  # the default: any value is accepted
FIELDS = [one.name for one in fields(NewMessage) if one.name != "deliver_at"]
BYTES = ("body", "headers", "envelope")


def put_messages(address: str | None = None) -> list[NewMessage]:
    """The messages that were put, in order, whatever became of them. In a test: by this
    test, as the database forgets the others.

    Args:
        address: only those to it; None: to all addresses.
    """
    rows = Message.objects.filter(first_id=None, copied_from=None).order_by("pk")
    if address is not None:
        rows = rows.filter(address=address)
    dues = dict(Delayed.objects.values_list("id", "due_at"))
    return [as_put(one, dues) for one in rows]


def as_put(row: Message, dues: Mapping[int, Any]) -> NewMessage:
    values = {name: getattr(row, name) for name in FIELDS}
    for name in BYTES:
        if values[name] is not None:
            values[name] = bytes(values[name])
    return NewMessage(**values, deliver_at=dues.get(row.pk))


def assert_put(
    address: str | None = None,
    *,
    count: int | None = None,
    json: Any = ANY,
    **wanted: Any,
) -> list[NewMessage]:
    """Fail unless such messages were put; return them.

    Args:
        address: where they were put; None: anywhere.
        count: how many; None: at least one.
        json: their body, as JSON.
        wanted: other fields of ``NewMessage``; of ``properties``, those that are named.

    Raises:
        AssertionError: the sentence has all messages to the address.
    """
    unknown = sorted(wanted.keys() - set(FIELDS) - {"deliver_at"})
    if unknown:
        raise TypeError(f"A message has no field {', '.join(unknown)}.")
    there = put_messages(address)
    found = [one for one in there if fits(one, wanted, json)]
    if len(found) == count or (found and count is None):
        return found
    how_many = "one message or more" if count is None else f"{count}"
    asked = wanted if json is ANY else {"json": json, **wanted}
    raise AssertionError(
        f"Expected {how_many} to {address or 'any address'} with {asked};"
        f" {len(found)} of these fit: {[brief(one) for one in there]}"
    )


def assert_not_put(address: str | None = None, **wanted: Any) -> None:
    """Fail if such a message was put; the arguments are those of ``assert_put``."""
    assert_put(address, count=0, **wanted)


def assert_enqueued(
    task: Any, *, args: Sequence[Any] = ANY, kwargs: Any = ANY, **rest: Any
) -> list[NewMessage]:
    """Fail unless a task of Django's was enqueued; ``rest`` is that of ``assert_put``.

    Args:
        task: the task.
        args: its positional arguments; by default any.
        kwargs: its keyword arguments; by default any.
        rest: further arguments of ``assert_put``.
    """
    found = assert_put(properties={"task": task.module_path}, **rest)
    calls = [(one, json_module.loads(one.body)) for one in found]
    fitting = [
        one
        for one, call in calls
        if (args is ANY or call["args"] == list(args))
        and (kwargs is ANY or call["kwargs"] == kwargs)
    ]
    if not fitting:
        was = [call for _, call in calls]
        raise AssertionError(f"{task.module_path} was enqueued with {was}")
    return fitting


def fits(message: NewMessage, wanted: Mapping[str, Any], json: Any) -> bool:
    if json is not ANY and json_of(message) != json:
        return False
    fields_wanted = dict(wanted)
    properties = fields_wanted.pop("properties", {})
    if not properties.items() <= dict(message.properties).items():
        return False
    return all(getattr(message, name) == one for name, one in fields_wanted.items())


def json_of(message: NewMessage) -> Any:
    try:
        return json_module.loads(message.body)
    except ValueError:
        return ANY


def brief(message: NewMessage) -> str:
    body = message.body.decode(errors="replace")
    return f"{message.address}: {body if len(body) <= 200 else body[:199] + '…'}"


def dead_letters(queue: str | None = None) -> list[DeadLetter]:
    """The dead letters, with ``origin_queue``, ``cause`` and ``error``, in order.

    Args:
        queue: only those that died on it.
    """
    rows = DeadLetter.objects.order_by("died_at", "message_id")
    return list(rows if queue is None else rows.filter(origin_queue=queue))


def assert_no_dead_letters() -> None:
    """Fail if a message died: it became a dead letter, or was discarded, as its address
    has no dead letter address."""
    died = [f"{one.origin_queue}: {one.error}" for one in dead_letters()]
    died += [f"{one.queue}: {one.why}" for one in Discarded.objects.all()]
    if died:
        raise AssertionError(f"Messages died: {died}")
