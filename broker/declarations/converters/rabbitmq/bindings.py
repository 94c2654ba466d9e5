"""Bindings of RabbitMQ become selectors of queues.

A dead letter can get another routing key there; here it keeps its subject, and has the
queue that it came from in ``_AMQ_ORIG_QUEUE``. So a selector names the queues whose
dead letters a binding takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import (
    Argument,
    DefinitionRow,
    RabbitDefinitions,
)
from broker.declarations.converters.rabbitmq.endings import DeadLetters
from broker.declarations.converters.rabbitmq.queues import RabbitQueue, RabbitQueues
from broker.declarations.converters.rabbitmq.routing_keys import (
    NEARLY,
    matches,
    of_headers,
    of_keys,
    text,
)
from broker.declarations.kinds import QUEUE

BY_KEY = ("direct", "topic")
ORIGIN = "_AMQ_ORIG_QUEUE"
NEVER = "JMSType IS NULL AND JMSType IS NOT NULL"


def convert_bindings(
    queues: RabbitQueues, letters: DeadLetters, found: Converted
) -> None:
    for address, keys in letters.keys.items():
        by_key = queues.type_of(address) in BY_KEY
        for argument in filter(None, keys.values()):
            (found.parts.take if by_key else found.parts.default)(*argument.sources)
    for name, rows in queues.given.bindings.items():
        one = queues.by_name.get(name)
        if one is None or one.is_left_out:
            why = "Its queue is left out." if one else "The file has no such queue."
            found.parts.name(why, *(row.path for row in rows))
        else:
            convert_bound(one, queues, letters, found)
    for row in queues.given.rows("bindings"):
        # A binding to the default exchange, which each queue has.
        if not row.text("source"):
            found.parts.default(*row.parts())


def convert_bound(
    one: RabbitQueue, queues: RabbitQueues, letters: DeadLetters, found: Converted
) -> None:
    """The selector of a queue, by its bindings to the exchange that is its address."""
    kind = queues.type_of(one.exchange)
    for row in one.bindings:
        take(row, kind, queues.given, found)
    if one.other_bindings:
        found.parts.name(
            f"A queue has one address here, {one.exchange}. Let producers send to both,"
            " or make another queue on this one for the same consumers.",
            *(row.path for row in one.other_bindings),
        )
    selector: str | None = ""
    if kind in BY_KEY:
        selector = by_key(one, queues, letters, found)
    elif kind == "headers":
        given = [header_arguments(row) for row in one.bindings]
        selector = of_headers(given)
        selector = NEVER if selector is None else selector
    senders = letters.senders.get(one.name)
    if selector and senders:
        selector = f"({selector}) OR {among(senders)}"
    if selector:
        values = found.objects[QUEUE, (one.name,)]
        found.select(values, selector, f"queue {one.name}")


def take(
    row: DefinitionRow, kind: str, given: RabbitDefinitions, found: Converted
) -> None:
    found.parts.take(*row.parts("source", "destination"))
    found.parts.default(*row.parts("destination_type", "properties_key"))
    in_prefix = given.has_several and row.text("vhost", "/") != "/"
    (found.parts.take if in_prefix else found.parts.default)(*row.parts("vhost"))
    counts = kind in BY_KEY
    (found.parts.take if counts else found.parts.default)(*row.parts("routing_key"))
    if kind == "headers":
        found.parts.take(*row.parts("arguments"))
    elif row.pairs("arguments"):
        why = "Only bindings to exchanges of the type headers have arguments."
        found.parts.name(why, (*row.path, "arguments"))


def header_arguments(row: DefinitionRow) -> dict[str, object]:
    return {name: value for name, (value, _) in row.pairs("arguments").items()}


def by_key(
    one: RabbitQueue, queues: RabbitQueues, letters: DeadLetters, found: Converted
) -> str:
    is_topic = queues.type_of(one.exchange) == "topic"
    keys = [row.text("routing_key", "") for row in one.bindings]
    selector, nearly = of_keys(keys, is_topic=is_topic)
    for row in one.bindings:
        if row.text("routing_key", "") in nearly:
            found.parts.name(NEARLY, *row.parts("routing_key"))
    sent = letters.keys.get(one.address, {})
    if not selector or not sent:
        return selector
    keyed = {name: key for name, key in sent.items() if key is not None}
    taken = [
        name
        for name, key in keyed.items()
        if any(matches(each, str(key.value), is_topic=is_topic) for each in keys)
    ]
    if len(taken) == len(sent) and not queues.beside(one):
        # No selector is needed: all dead letters of the address go to this queue.
        return ""
    return with_letters(selector, keyed, taken)


def with_letters(
    selector: str, keyed: Mapping[str, Argument], taken: Sequence[str]
) -> str:
    """A selector that takes dead letters by their new routing keys."""
    if keyed:
        others = among(keyed).replace(" IN ", " NOT IN ")
        selector = f"({selector}) AND ({ORIGIN} IS NULL OR {others})"
    return f"{selector} OR {among(taken)}" if taken else selector


def among(names: Collection[str]) -> str:
    return f"{ORIGIN} IN ({', '.join(map(text, sorted(names)))})"
