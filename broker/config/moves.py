"""The moves of messages that nobody orders: dead letters, expired and poison messages,
links of bridges, rules for dead letters.

A move is from a queue, or from a destination of another broker, to another one. What
goes to an address goes to each of its queues: selectors are not looked into.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from django.conf import settings

from broker.config.address_settings import Policy, policy_of
from broker.config.configuration import Configuration, QueueRow
from broker.config.transfers import ADDRESS, QUEUE, Transfer, TransferEnd, Way
from broker.models import AddressSetting, Queue

THRESHOLDS = (Policy.IBM, Policy.BOTH)
ATTEMPTS = (Policy.ARTEMIS, Policy.BOTH)


class Move(NamedTuple):
    """Messages go from one place to another by themselves."""

    source: str
    target: str
    way: Way = Way.DEAD_LETTERS
    by: str = ""

    @property
    def words(self) -> str:
        return self.way.words.format(self.source, self.by)

    @property
    def remedy(self) -> str:
        return self.way.remedy.format(self.source, self.by)


def moves(found: Configuration) -> set[Move]:
    """All moves between places that something moves messages to; others are on no
    circle."""
    every: set[Move] = set()
    for row in targets(found):
        every.update(of_settings(row, found), of_threshold(row, found))
    for one in found.transfers:
        every.update(of_transfer(one, found))
    return every


def targets(found: Configuration) -> list[QueueRow]:
    """The queues that messages are moved to, and those that will be created for dead
    letters or expired messages."""
    fed = {one.address for one in found.queues.values()}
    made = {to for rule in found.rules for to in created_by(rule)} - fed
    return [*found.queues.values(), *(QueueRow(None, to, to) for to in sorted(made))]


def created_by(rule: AddressSetting) -> Iterator[str]:
    """The addresses that get queues when the first message comes."""
    if rule.dead_letter_address and rule.auto_create_dead_letter_resources:
        yield rule.dead_letter_address
    if rule.expiry_address and rule.auto_create_expiry_resources:
        yield rule.expiry_address


def of_settings(row: QueueRow, found: Configuration) -> Iterator[Move]:
    """Where messages of a queue go if they fail too often, or expire."""
    merged = found.merged(row.address)
    for to in filter(None, [dead_letter_target(row, merged)]):
        for each in takers(to, found):
            yield Move(row.name, each, Way.DEAD_LETTERS)
    for to in filter(None, [expiry_target(row, merged)]):
        for each in takers(to, found):
            yield Move(row.name, each, Way.EXPIRED)


def dead_letter_target(row: QueueRow, merged: AddressSetting) -> str:
    """Where messages go that used up their attempts; empty: they stay, or end.

    Source:
        ``settlement.redelivery_policy.dispose``.
    """
    limits = (merged.max_delivery_attempts or 0) > 0
    applies = policy_of(merged, row.backout_threshold) in ATTEMPTS
    to = merged.dead_letter_address or ""
    stays = row.kind == Queue.Kind.INTERNAL or to == row.address
    return to if limits and applies and not stays else ""


def expiry_target(row: QueueRow, merged: AddressSetting) -> str:
    """Where messages go that expire; empty: they end, or none that was moved here
    expires, as a copy has only the time to live that its new address gives it.

    Source:
        ``settlement.expiry.expiry_target``, ``queueing.arrival_expiry.lifetime_by``.
    """
    delays = (
        merged.expiry_delay_ms,
        merged.max_expiry_delay_ms,
        merged.min_expiry_delay_ms,
    )
    ends = not merged.no_expiry and any(one is not None and one >= 0 for one in delays)
    to = merged.expiry_address or ""
    is_ibm = policy_of(merged, row.backout_threshold) is Policy.IBM
    return to if ends and not is_ibm and to != row.address else ""


def of_threshold(row: QueueRow, found: Configuration) -> Iterator[Move]:
    """Where consumers move the poison messages of a queue.

    Source:
        ``settlement.poison.take_away``.
    """
    merged = found.merged(row.address)
    if not row.backout_threshold:
        return
    if policy_of(merged, row.backout_threshold) not in THRESHOLDS:
        return
    to = found.queue(row.backout_queue) if row.backout_queue else None
    to = to or found.queue(settings.BROKER_DEAD_LETTER_QUEUE)
    if to:
        yield Move(row.name, to.name, Way.POISON)


def of_transfer(one: Transfer, found: Configuration) -> Iterator[Move]:
    row = found.queue(one.source.name) if one.source.kind == QUEUE else None
    source = row.name if row else one.source.name
    if one.source.kind == ADDRESS:
        source = subscriber(one)
    for target in reached(one.target, found):
        yield Move(source, target, one.way, one.by)


def reached(end: TransferEnd, found: Configuration) -> list[str]:
    """The places that a message reaches from the target of a transfer."""
    row = found.queue(end.name)
    if end.kind == QUEUE:
        return [row.name] if row else []
    if not end.kind:
        return [end.name]
    address = found.aliases.get(end.name, end.name)
    if row and not found.fed_by(address):
        address = row.address
    merged, fed = found.merged(address), found.fed_by(address)
    through = takers(address, found)
    if merged.send_to_dla_on_no_route and all(one.selector for one in fed):
        through += takers(merged.dead_letter_address or "", found)
    return through


def takers(address: str, found: Configuration) -> list[str]:
    """The queues of an address, and the subscriptions of links to it."""
    fed = [one.name for one in found.fed_by(address)]
    subscribed = [
        subscriber(one)
        for one in found.transfers
        if one.source.kind == ADDRESS
        and found.aliases.get(one.source.name, one.source.name) == address
    ]
    if not fed and any(address in created_by(rule) for rule in found.rules):
        fed = [address]  # the queue that will be created
    return fed + subscribed


def subscriber(one: Transfer) -> str:
    """The name of the subscription by which a transfer reads a topic."""
    return f"subscription of {one.by} to {one.source.name}"
