"""How messages of RabbitMQ's queues end: times to live, dead letters, attempts.

There they belong to a queue, here to its address. So they are taken over only if all
queues of the address have the same: what belongs to one queue never changes another's
messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import (
    QUORUM,
    Argument,
    RabbitDefinitions,
)
from broker.declarations.converters.rabbitmq.queues import (
    ITS_ADDRESS,
    RabbitQueue,
    RabbitQueues,
)
from broker.declarations.documents import toml
from broker.declarations.kinds import SETTING
from broker.formats.inventory import Path
from broker.models import AddressSetting

LONGEST_MS = 2**63 - 1
QUORUM_REDELIVERIES = 20  # default delivery limit of quorum queues since RabbitMQ 4
UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class QueueEnding:
    """The value that one queue needs for a field of its address's settings."""

    value: Any
    sources: Sequence[Path]
    # New routing key of dead letters; None: they keep theirs.
    key: Argument | None = None
    queue: str = ""  # the only queue that takes dead letters


@dataclass(slots=True)
class DeadLetters:
    """Which queues send dead letters to which addresses and queues."""

    # By dead letter address, then by queue whose dead letters go there: their new
    # routing key; None: they keep theirs.
    keys: dict[str, dict[str, Argument | None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    # By queue that gets dead letters directly: the queues whose dead letters it gets.
    senders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def convert_endings(queues: RabbitQueues, found: Converted) -> DeadLetters:
    """Make the settings of all addresses; return which queues send dead letters
    where."""
    letters = DeadLetters()
    for address, members in list(queues.of_address.items()):
        endings = {one.name: endings_of(one, queues, found) for one in members}
        for name in sorted({name for each in endings.values() for name in each}):
            said = [each.get(name) for each in endings.values()]
            if len({one and one.value for one in said}) > 1:
                name_own(name, members, endings, found)
            elif not can_be_set(address):
                name_sign(name, endings, found)
            else:
                settle(name, address, endings, letters, found)
    note_lost(queues, letters, found)
    return letters


def note_lost(queues: RabbitQueues, letters: DeadLetters, found: Converted) -> None:
    """Add a note on dead letters for an address that has no queue in the file."""
    for address, keys in letters.keys.items():
        if not queues.of_address.get(address):
            found.notes.append(
                f"Dead letters of {', '.join(keys)} go to {address}, of which no queue"
                " in this file is: they are discarded. Create a queue on it, or name"
                " another dead letter address."
            )


def settle(
    name: str,
    address: str,
    endings: Mapping[str, Mapping[str, QueueEnding]],
    letters: DeadLetters,
    found: Converted,
) -> None:
    """Set a field for which all queues of an address need the same value."""
    first = next(iter(endings.values()))[name]
    values = found.of(SETTING, address, source=first.sources[0])
    for queue, each in endings.items():
        one = each[name]
        found.set(values, name, one.value, *one.sources)
        if name == "dead_letter_address":
            values["expiry_address"] = one.value
            if one.queue:
                letters.senders[one.queue].append(queue)
            else:
                letters.keys[one.value][queue] = one.key


def can_be_set(address: str) -> bool:
    """Whether a pattern of address settings can match exactly this address."""
    match = AddressSetting._meta.get_field("match")
    try:
        match.run_validators(address)
    except ValidationError:
        return False
    return not {"*", "#"} & set(address)


def name_own(
    name: str,
    members: Sequence[RabbitQueue],
    endings: Mapping[str, Mapping[str, QueueEnding]],
    found: Converted,
) -> None:
    """Name values of one queue in comments that would also apply to other queues."""
    for one in members:
        if name in endings[one.name]:
            ending = endings[one.name][name]
            others = ", ".join(each.name for each in members if each is not one)
            found.parts.name(
                f"It belongs to this queue; here it is a setting of its address,"
                f" {one.address}, which feeds {others} too: nothing was made of it."
                f" {ITS_ADDRESS} Then set {name} = {toml(ending.value)} for that.",
                *ending.sources,
                *(ending.key.sources if ending.key else ()),
            )


def name_sign(
    name: str, endings: Mapping[str, Mapping[str, QueueEnding]], found: Converted
) -> None:
    for each in endings.values():
        found.parts.name(
            "Settings are by patterns, in which * and # stand for words: none means"
            f" this address alone. Rename it, and set {name} ="
            f" {toml(each[name].value)}.",
            *each[name].sources,
        )


def endings_of(
    one: RabbitQueue, queues: RabbitQueues, found: Converted
) -> dict[str, QueueEnding]:
    """The values that a queue needs for the fields on the ends of its messages, by
    field."""
    endings = {
        "max_delivery_attempts": attempts(one, queues.given),
        "max_expiry_delay_ms": time_to_live(one, found),
        "dead_letter_address": dead_letters(one, queues, found),
    }
    return {name: value for name, value in endings.items() if value is not None}


def attempts(one: RabbitQueue, given: RabbitDefinitions) -> QueueEnding | None:
    """The deliveries of a message, the first one and then its redeliveries.

    Source:
        RabbitMQ, "Quorum Queues", "Poison Message Handling": since 4.0 the limit is 20
        if nothing else is said, and -1 is none; before, there was none.
    """
    limit = one.arguments.get("delivery-limit")
    if one.kind != QUORUM or (limit and type(limit.value) is not int):
        return None
    if limit:
        most = limit.value + 1 if limit.value >= 0 else UNLIMITED
        return QueueEnding(most, limit.sources)
    version = str(given.document.get("rabbit_version", ""))
    major = int(version.partition(".")[0]) if version[:1].isdigit() else 0
    most = QUORUM_REDELIVERIES + 1 if major >= 4 else UNLIMITED
    return QueueEnding(most, given.says_type(one.row))


def time_to_live(one: RabbitQueue, found: Converted) -> QueueEnding | None:
    ttl = one.arguments.get("message-ttl")
    if ttl is None:
        return None
    if type(ttl.value) is int and 0 < ttl.value <= LONGEST_MS:
        return QueueEnding(ttl.value, ttl.sources)
    found.parts.name(
        "It is no time in milliseconds above 0. (With 0, a message is there for a"
        " consumer that waits, or not at all; here it would expire at once.)",
        *ttl.sources,
    )
    return None


def dead_letters(
    one: RabbitQueue, queues: RabbitQueues, found: Converted
) -> QueueEnding | None:
    """The address of a queue's dead letters, which in RabbitMQ include expired
    messages."""
    exchange = one.arguments.get("dead-letter-exchange")
    key = one.arguments.get("dead-letter-routing-key")
    if exchange is None:
        if key:  # without an exchange, the key has no effect
            found.parts.default(*key.sources)
        return None
    sources = [*exchange.sources, *(key.sources if key else ())]
    ending: QueueEnding | str
    if exchange.value:
        to = queues.given.name(one.row, str(exchange.value))
        ending = QueueEnding(to, exchange.sources, key)
    else:
        ending = by_default_exchange(one, key, sources, queues)
    if isinstance(ending, str) or ending.value == one.address:
        why = ending if isinstance(ending, str) else RETURNS
        found.parts.name(why, *sources)
        return None
    return ending


RETURNS = (
    "Its dead letters return to it, or to its own address, there. Here"
    " redelivery_delay of the address does that; give it another dead letter address."
)


def by_default_exchange(
    one: RabbitQueue,
    key: Argument | None,
    sources: Sequence[Path],
    queues: RabbitQueues,
) -> QueueEnding | str:
    """The queue that gets the dead letters, which the routing key names; or why it
    cannot."""
    if key is None or not key.value:
        return RETURNS
    name = queues.given.name(one.row, str(key.value))
    target = queues.by_name.get(name)
    if target is None:
        return QueueEnding(name, sources)
    if beside := queues.beside(target):
        others = ", ".join(each.name for each in beside)
        return (
            f"Its dead letters go to the queue {name} alone there; here its address,"
            f" {target.address}, feeds {others} too: nothing was made of it. Create a"
            " queue with an address of its own for them, and name that."
        )
    return QueueEnding(target.address, sources, queue=name)
