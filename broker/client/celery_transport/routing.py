"""Exchanges and bindings of AMQP 0-9-1, as rows. The default exchange sends a message
to the queue that its routing key names."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from broker.models import Binding, Queue

Kind = Binding.Kind
ONE = r"[^.]+"  # pattern of one word of a routing key
Matches = Callable[[str, str], bool]


def bind(queue: Queue, exchange: str, kind: str, routing_key: str) -> None:
    """Bind a queue to an exchange. A second call with the same arguments changes
    nothing."""
    Binding.objects.bulk_create(
        [Binding(exchange=exchange, kind=kind, routing_key=routing_key, queue=queue)],
        ignore_conflicts=True,
    )


def unbind(queue: str, exchange: str, routing_key: str) -> None:
    """Remove a binding, if it exists."""
    Binding.objects.filter(
        queue__name=queue, exchange=exchange, routing_key=routing_key
    ).delete()


def delete(exchange: str) -> None:
    """Delete an exchange: all its bindings."""
    Binding.objects.filter(exchange=exchange).delete()


def addresses(exchange: str, routing_key: str) -> list[str]:
    """The addresses of the queues that get a message, each once. One query."""
    rows = Binding.objects.filter(exchange=exchange).values_list(
        "kind", "routing_key", "queue__address__name"
    )
    found = (to for kind, key, to in rows if MATCHES[kind](key, routing_key))
    return list(dict.fromkeys(found))


def table(exchange: str) -> list[tuple[str, str, str]]:
    """Routing key, kind and queue of each binding of an exchange."""
    rows = Binding.objects.filter(exchange=exchange)
    return list(rows.values_list("routing_key", "kind", "queue__name"))


def is_topic(pattern: str, routing_key: str) -> bool:
    """Whether a routing key matches the pattern of a topic exchange.

    Source:
        AMQP 0-9-1, "The topic exchange type".
    """
    return pattern_of(pattern).fullmatch(f"{routing_key}.") is not None


@lru_cache(maxsize=1000)
def pattern_of(text: str) -> re.Pattern[str]:
    """The pattern of keys with a dot at the end: a star is one word, a hash any number
    of words, also none."""
    parts: list[str] = []
    for word in text.split("."):
        if word == "#":
            parts.append(r"(?:[^.]+\.)*")
        else:
            parts.append((ONE if word == "*" else re.escape(word)) + r"\.")
    return re.compile("".join(parts))


MATCHES: dict[str, Matches] = {
    Kind.DIRECT: lambda key, given: key == given,
    Kind.TOPIC: is_topic,
    Kind.FANOUT: lambda *_: True,
}
