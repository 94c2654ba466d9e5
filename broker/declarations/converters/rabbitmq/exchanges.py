"""Exchanges of RabbitMQ become addresses."""

from __future__ import annotations

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import EXCHANGE, DefinitionRow
from broker.declarations.converters.rabbitmq.endings import can_be_set
from broker.declarations.converters.rabbitmq.queues import (
    CLUSTER,
    NO_EQUAL,
    OF_CLUSTERS,
    SPREADING,
    RabbitQueues,
)
from broker.declarations.kinds import ADDRESS, SETTING

TYPES = {"direct", "topic", "fanout", "headers"}
FLAGS = (
    ("durable", True, "It is transient there; here it stays."),
    ("auto_delete", False, "It is deleted there after its last binding; not here."),
    ("internal", False, "Only exchanges send to it there. Grant put on it to nobody."),
)
SPREAD = (
    "It spreads messages by a hash of their keys, or at random; here each goes to one"
    " of the queues, in turn. Messages of one key do not stay together."
)
DELAYED = "Delays of messages are deliver_at of a put, or x-opt-delivery-delay in AMQP."


def convert_exchanges(queues: RabbitQueues, found: Converted) -> None:
    given = queues.given
    for row in given.exchanges:
        name = given.own_name(row)
        if queues.exchanges.get(name) is row:
            convert_exchange(name, row, queues, found)
        elif name in queues.exchanges:
            why = "There is another one of this name. Remove one, or rename it."
            found.parts.name(why, row.path)
        else:  # a predefined exchange, which each broker has
            found.parts.default(*row.parts())
    for row in given.rows("bindings"):
        if row.values.get("destination_type") == "exchange":
            found.parts.name(
                "A binding between exchanges has no equal. Let producers send to both,"
                " or bind the queues of the second to the first.",
                row.path,
            )


def convert_exchange(
    name: str, row: DefinitionRow, queues: RabbitQueues, found: Converted
) -> None:
    parts = found.parts
    found.of(ADDRESS, name, source=(*row.path, "name"))
    in_prefix = queues.given.has_several and row.text("vhost", "/") != "/"
    (parts.take if in_prefix else parts.default)(*row.parts("vhost"))
    for key, usual, why in FLAGS:
        if row.values.get(key, usual) == usual:
            parts.default(*row.parts(key))
        else:
            parts.name(why, *row.parts(key))
    convert_type(row, found)
    for key, argument in queues.given.arguments(row, EXCHANGE).items():
        if key in NO_EQUAL:
            parts.name(NO_EQUAL[key], *argument.sources)
        elif key.startswith(OF_CLUSTERS):
            parts.name(CLUSTER, *argument.sources)


def convert_type(row: DefinitionRow, found: Converted) -> None:
    """Convert the type of an exchange: selectors of its queues replace its routing."""
    parts, kind = found.parts, row.text("type", "direct")
    if kind in TYPES:
        parts.take(*row.parts("type"))
    elif kind == "x-delayed-message":
        parts.name(DELAYED, *row.parts("type"))
    elif kind in SPREADING:
        parts.name(SPREAD, *row.parts("type"))
    else:
        why = f"No address routes as {kind}: here each queue of it gets each message."
        parts.name(f"{why} Give the queues selectors.", *row.parts("type"))
    delayed = row.pairs("arguments").get("x-delayed-type")
    if delayed and kind == "x-delayed-message":
        parts.take(delayed[1])


def convert_alternates(queues: RabbitQueues, found: Converted) -> None:
    """Where messages go that no queue of an exchange takes. Here that is the address of
    its dead letters, so it is taken over if those go there too, or there are none."""
    for name, row in queues.exchanges.items():
        argument = queues.given.arguments(row, EXCHANGE).get("alternate-exchange")
        if argument is None:
            continue
        to = queues.given.name(row, str(argument.value))
        settings = found.objects.get((SETTING, (name,)), {})
        same = settings.get("dead_letter_address") == to
        fits = same or not queues.of_address.get(name)
        if fits and can_be_set(name) and to != name:
            values = found.of(SETTING, name, source=argument.sources[0])
            found.set(values, "dead_letter_address", to, *argument.sources)
            values["send_to_dla_on_no_route"] = True
        else:
            found.parts.name(
                f"What no queue takes goes to {to} there, and is dropped here. If dead"
                " letters of the address may go there as well, set dead_letter_address"
                " and send_to_dla_on_no_route for it; or give it one more queue.",
                *argument.sources,
            )
