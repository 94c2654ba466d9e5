"""Definitions of RabbitMQ: ``rabbitmqctl export_definitions``, or of its management.

An exchange becomes an address. A queue that is bound to it becomes a queue of that
address; routing keys become its selector, on the subject of messages, which is the
routing key, as RabbitMQ itself maps it for AMQP 1.0. A queue without bindings, which
senders name, gets an address of its own name.

Source:
    RabbitMQ, "Schema Definition Export and Import", "Policies", "Dead Letter
    Exchanges", "Time-To-Live and Expiration", "Queue Length Limit"; AMQP 0-9-1,
    "Exchange Types".
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.routing_keys import of_headers, of_keys
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.errors.settings import WrongSettings

Row = Mapping[str, Any]
SAME = {"queue-type", "queue-mode", "queue-version", "queue-master-locator"}
CLUSTERS = ("ha-", "quorum-", "queue-leader", "max-in-memory")
SETTLED = {  # what ``convert_limits`` and ``convert_endings`` read
    *("max-length", "overflow", "message-ttl", "delivery-limit"),
    *("dead-letter-exchange", "dead-letter-routing-key"),
}


class Definitions:
    """The parts of a document; names have the prefix of their virtual host."""

    def __init__(self, document: Row) -> None:
        self.document = document
        used = {one.get("vhost", "/") for one in self.rows("queues")}
        used |= {one.get("vhost", "/") for one in self.rows("exchanges")}
        self.has_several = len(used) > 1
        self.exchanges = {
            self.name(one, one["name"]): one
            for one in self.rows("exchanges")
            if one["name"] and not one["name"].startswith("amq.")
        }
        self.bound: dict[str, list[Row]] = defaultdict(list)  # bindings, by queue
        for one in self.rows("bindings"):
            if one.get("destination_type") == "queue" and one["source"]:
                self.bound[self.name(one, one["destination"])].append(one)

    def rows(self, part: str) -> Sequence[Row]:
        rows = self.document.get(part, [])
        if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
            raise WrongSettings(part, "It must be a list of objects.")
        return rows

    def name(self, row: Row, name: str) -> str:
        host = row.get("vhost", "/")
        return f"{host}.{name}" if self.has_several and host != "/" else name

    def arguments(self, queue: Row) -> dict[str, Any]:
        """The arguments of a queue without their ``x-``, and those of its policy. A
        number is the lower one of both, as in RabbitMQ."""
        fitting = [
            one
            for one in self.rows("policies")
            if one.get("vhost", "/") == queue.get("vhost", "/")
            and one.get("apply-to", "all") in ("all", "queues", "classic_queues")
            and re.search(str(one.get("pattern", "")), queue["name"])
        ]
        best = max(fitting, key=lambda one: one.get("priority", 0), default={})
        found = dict(best.get("definition", {}))
        for key, value in queue.get("arguments", {}).items():
            name, other = key.removeprefix("x-"), found.get(key.removeprefix("x-"))
            both = isinstance(value, int) and isinstance(other, int)
            found[name] = min(value, other) if both else value
        return found


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: it is no document of definitions.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or "queues" not in document:
            raise WrongSettings("", 'There are no definitions in it: no "queues".')
        given, found = Definitions(document), Converted()
        for name in given.exchanges:
            found.of(ADDRESS, name)
        for queue in given.rows("queues"):
            convert_queue(queue, given, found)
        note_exchanges(given, found)
        note_rights(given, found)
    except (json.JSONDecodeError, RecursionError) as error:
        raise WrongSettings("", f"This is no JSON: {error}.") from None
    except (KeyError, TypeError, AttributeError, re.error) as error:
        why = f"These are no definitions of RabbitMQ: {error!r}."
        raise WrongSettings("", why) from None
    return found


def convert_queue(queue: Row, given: Definitions, found: Converted) -> None:
    name = given.name(queue, queue["name"])
    if queue["name"].startswith("amq.gen-"):
        found.notes.append(f"Queue {name} is left out: its client makes it again.")
        return
    values, arguments = found.of(QUEUE, name), given.arguments(queue)
    bind(name, values, given, found)
    address = values.get("address", name)
    convert_limits(name, arguments, values, found)
    settings = convert_endings(queue, arguments, given, found)
    if settings:
        known = found.of(SETTING, address)
        if any(known.get(key, value) != value for key, value in settings.items()):
            found.notes.append(
                f"Queue {name}: its dead letters and times differ from those of another"
                f" queue of the address {address}, which are kept: {settings}."
            )
        known.update({k: v for k, v in settings.items() if k not in known})
    if not queue.get("durable", True) or queue.get("auto_delete"):
        found.notes.append(f"Queue {name} is transient there; it stays here.")
    for key in sorted(arguments.keys() - SETTLED - SAME):
        if not key.startswith(CLUSTERS):
            found.notes.append(f"Queue {name}: {key} = {arguments[key]!r} is left out.")
    if arguments.get("queue-type") == "stream":
        found.notes.append(f"{name} is a stream; here it is a queue: read once.")


def bind(
    name: str, values: dict[str, Any], given: Definitions, found: Converted
) -> None:
    """The address of a queue, and the selector of its bindings."""
    by_exchange: dict[str, list[Row]] = defaultdict(list)
    for one in given.bound[name]:
        by_exchange[given.name(one, one["source"])].append(one)
    if not by_exchange:
        return
    exchange, *others = sorted(by_exchange)
    values |= {"address": exchange, "routing_type": "multicast"}
    for other in others:
        keys = ", ".join(repr(one.get("routing_key", "")) for one in by_exchange[other])
        found.notes.append(
            f"Queue {name} is bound to {other} too, by {keys}; here a queue has one"
            f" address, {exchange}. Send to both, or make another queue."
        )
    kind = given.exchanges.get(exchange, {}).get("type", exchange.split(".")[-1])
    bindings = by_exchange[exchange]
    selector = ""
    if kind in ("direct", "topic") and not is_only_for_dead_letters(exchange, given):
        routing = [one.get("routing_key", "") for one in bindings]
        selector = of_keys(routing, is_topic=kind == "topic", notes=found.notes)
    elif kind in ("headers", "match"):
        selector = of_headers([one.get("arguments", {}) for one in bindings])
    if selector:
        found.select(values, selector, f"Queue {name}")


def is_only_for_dead_letters(exchange: str, given: Definitions) -> bool:
    """Whether an exchange has one queue, and other queues send their dead letters to
    it: whatever their routing keys are, they reach it."""
    bound = {
        queue
        for queue, bindings in given.bound.items()
        if any(given.name(one, one["source"]) == exchange for one in bindings)
    }
    ends = {
        given.name(queue, str(given.arguments(queue).get("dead-letter-exchange", "")))
        for queue in given.rows("queues")
    }
    return len(bound) == 1 and exchange in ends


def convert_limits(
    name: str, arguments: Row, values: dict[str, Any], found: Converted
) -> None:
    if "max-length" in arguments:
        values["max_depth"] = arguments["max-length"]
        if not str(arguments.get("overflow", "drop-head")).startswith("reject"):
            found.notes.append(
                f"Queue {name}: when it is full, RabbitMQ drops the oldest message;"
                " here the put is refused."
            )


def convert_endings(
    queue: Row, arguments: Row, given: Definitions, found: Converted
) -> dict[str, Any]:
    """The settings of a queue's address: dead letters, attempts, time to live."""
    name, settings = given.name(queue, queue["name"]), {}
    if "delivery-limit" in arguments:  # redeliveries, after the first delivery
        settings["max_delivery_attempts"] = arguments["delivery-limit"] + 1
    if "message-ttl" in arguments:
        settings["max_expiry_delay_ms"] = arguments["message-ttl"]
    exchange = arguments.get("dead-letter-exchange")
    key = arguments.get("dead-letter-routing-key")
    if exchange is None:
        return settings
    target = given.name(queue, exchange or key or "")
    if not target:
        found.notes.append(
            f"Queue {name}: its dead letters return to it. Here redelivery-delay does"
            " that; give it a dead letter address."
        )
        return settings
    if not exchange and (bound := given.bound.get(target)):
        target = min(given.name(one, one["source"]) for one in bound)
    if exchange and key and not is_only_for_dead_letters(target, given):
        found.notes.append(
            f"Queue {name}: its dead letters get the routing key {key!r} there; here"
            f" they keep their subject. Check the selectors of the queues of {target}."
        )
    return settings | {"dead_letter_address": target, "expiry_address": target}


def note_exchanges(given: Definitions, found: Converted) -> None:
    for name, one in given.exchanges.items():
        if one.get("type") not in ("direct", "topic", "fanout", "headers"):
            found.notes.append(f"Exchange {name} has the type {one.get('type')!r}.")
        for key in one.get("arguments", {}):
            found.notes.append(f"Exchange {name}: {key} is left out.")
    for one in given.rows("bindings"):
        if one.get("destination_type") == "exchange":
            found.notes.append(
                f"Exchange {one['destination']} is bound to {one['source']}: send to"
                " both, or link the addresses."
            )
    for one in given.rows("parameters"):
        found.notes.append(
            f"{one.get('component')} {one.get('name')} is left out: make it a link of a"
            " bridge (docs/bridges.md)."
        )


def note_rights(given: Definitions, found: Converted) -> None:
    for one in given.rows("permissions"):
        may: dict[str, list[str]] = defaultdict(list)
        user = one["user"]
        for right, names in (
            ("read", ["get", "browse", "inquire"]),
            ("write", ["put"]),
        ):
            expression = one.get(right, "")
            pattern = pattern_of(expression)
            if pattern:
                may[pattern] += names
            elif expression not in ("", "^$"):
                found.notes.append(
                    f"User {user} may {right} what matches {expression!r}, which no"
                    " pattern here can say."
                )
        for pattern, granted in may.items():
            found.grant(f"user:{user}", pattern, granted)


def pattern_of(expression: str) -> str:
    """A pattern that matches the same names as a regular expression; or empty."""
    plain = expression.removeprefix("^").removesuffix("$").replace("\\.", ".")
    if plain == ".*":
        return "#"
    stem = plain.removesuffix(".*")
    is_name = re.fullmatch(r"[\w-]+(\.[\w-]+)*", stem.removesuffix("."))
    if is_name and plain.endswith("..*"):
        return f"{stem.removesuffix('.')}.#"
    return plain if is_name and expression == f"^{expression[1:-1]}$" else ""
