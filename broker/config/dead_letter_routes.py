"""Warnings on dead letter addresses that lose messages or send them in circles.

Each rule is a function over stored settings, as in ``lint``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from broker.config.address_settings import Policy, merge
from broker.config.advice import Advice
from broker.models import Address, AddressSetting, Delayed, Queue

LOOKED_AT = 1000  # most delayed messages that are examined


@dataclass(frozen=True, slots=True)
class Routes:
    """The dead letter addresses that settings name, and what is there."""

    rules: Sequence[AddressSetting]
    merged: Mapping[str, AddressSetting]  # by dead letter address
    # Name and selector of the queues of each address, by their ids.
    queues: Mapping[str, Mapping[int, tuple[str, str]]]

    @classmethod
    def of(cls, rules: Sequence[AddressSetting]) -> Routes:
        """One query."""
        named = {rule.dead_letter_address for rule in rules if rule.dead_letter_address}
        queues: dict[str, dict[int, tuple[str, str]]] = {one: {} for one in named}
        fed = Queue.objects.filter(address__name__in=named)
        for pk, address, *rest in fed.values_list(
            "pk", "address__name", "name", "selector"
        ):
            queues[address][pk] = (rest[0], rest[1])
        return cls(rules, {one: merge(one, rules) for one in sorted(named)}, queues)


def of_dead_letter_addresses(rules: Sequence[AddressSetting]) -> Iterator[Advice]:
    """Warnings on all dead letter addresses. Two queries, and one for each address
    that has no queue.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: what no queue of the dead
        letter address takes is dropped.
    """
    yield from of_attempts(rules)
    if not any(rule.dead_letter_address for rule in rules):
        return
    routes = Routes.of(rules)
    for rule in rules:
        if rule.dead_letter_address:
            yield from of_takers(rule, rule.dead_letter_address, routes)
            yield from of_expiry(rule, rule.dead_letter_address, routes)
    yield from of_circles(routes)
    yield from of_those_that_stay(routes)


def of_attempts(rules: Sequence[AddressSetting]) -> Iterator[Advice]:
    """Warn about a limit of attempts without an address for what reaches it."""
    for rule in rules:
        if (rule.max_delivery_attempts or 0) <= 0:
            continue
        merged = merge(rule.match, rules)
        counts = merged.poison_policy in (None, Policy.ARTEMIS, Policy.BOTH)
        if counts and not merged.dead_letter_address:
            yield Advice(
                rule.match,
                "attempts-without-address",
                f"The address setting {rule.match} allows"
                f" {rule.max_delivery_attempts:,} delivery attempts, and no dead letter"
                " address is set: then messages are discarded.",
                "Name a dead letter address, or say -1 for no limit.",
            )


def of_takers(rule: AddressSetting, to: str, routes: Routes) -> Iterator[Advice]:
    """Warn about an address that takes no dead letters, or only some."""
    queues = routes.queues[to]
    makes = merge(rule.match, routes.rules).auto_create_dead_letter_resources
    if queues and all(selector for _, selector in queues.values()):
        yield Advice(
            rule.match,
            "dead-letters-match-nothing",
            f"Each queue of {to}, the dead letter address of {rule.match}, has a"
            " selector: dead letters that none of them matches are discarded.",
            "Add a queue without a selector.",
        )
    if queues or makes:
        return
    there = {one.lower(): one for one in addresses_like(to)}
    is_there = to in there.values()
    what = "has no queue" if is_there else "does not exist"
    alike = there.get(to.lower())
    hint = f" Is {alike} meant?" if alike and not is_there else ""
    yield Advice(
        rule.match,
        "dead-letter-address-without-queue",
        f"{to}, the dead letter address of {rule.match}, {what}: dead letters are"
        " discarded.",
        f"Create a queue on it, or correct the name.{hint}",
    )


def addresses_like(name: str) -> list[str]:
    """The addresses with this name in any case; the name itself comes last."""
    found = Address.objects.filter(name__iexact=name).values_list("name", flat=True)
    return sorted(found, key=lambda one: one == name)


def of_expiry(rule: AddressSetting, to: str, routes: Routes) -> Iterator[Advice]:
    """Warn about dead letters that expire."""
    merged = routes.merged[to]
    delays = (merged.expiry_delay_ms, merged.max_expiry_delay_ms)
    lives_ms = next((one for one in delays if one is not None and one >= 0), None)
    if merged.no_expiry or lives_ms is None:
        return
    goes = merged.expiry_address
    end = f"go to {goes}" if goes and goes != to else "are discarded"
    yield Advice(
        rule.match,
        "dead-letters-expire",
        f"The settings of {to}, the dead letter address of {rule.match}, let its"
        f" messages expire after {lives_ms:,} ms: dead letters then {end}.",
        f"Set “no expiry” for {to}, or allow more time.",
    )


def of_circles(routes: Routes) -> Iterator[Advice]:
    """Warn about dead letter addresses that feed each other."""
    told: set[frozenset[str]] = set()
    for start in routes.merged:
        way = [start]
        while (to := next_of(way[-1], routes)) and to not in way:
            way.append(to)
        circle = way[way.index(to) :] if to else []
        if len(circle) < 2 or frozenset(circle) in told:
            continue
        told.add(frozenset(circle))
        rule = next(r for r in routes.rules if r.dead_letter_address in circle)
        yield Advice(
            rule.match,
            "dead-letter-circle",
            "Messages that fail go round between dead letter addresses, from"
            f" {' to '.join([*circle, circle[0]])}.",
            "End the circle: let one of these addresses allow -1 attempts, or name"
            " another dead letter address.",
        )


def next_of(address: str, routes: Routes) -> str:
    """Where a message goes that fails on a dead letter address; empty: it stays."""
    merged = routes.merged.get(address)
    if merged is None or (merged.max_delivery_attempts or 0) <= 0:
        return ""
    return merged.dead_letter_address or ""


def of_those_that_stay(routes: Routes) -> Iterator[Advice]:
    """Warn about dead letter queues with messages that used up their attempts there."""
    limits = {
        queue_id: (name, routes.merged[address].max_delivery_attempts or 0)
        for address, queues in routes.queues.items()
        if next_of(address, routes) == address
        for queue_id, (name, _) in queues.items()
    }
    if not limits:
        return
    waiting = Delayed.objects.filter(queue_id__in=limits)
    held = waiting.values_list("queue_id", "backout_count")[:LOOKED_AT]
    for queue_id in sorted({one for one, count in held if count >= limits[one][1]}):
        name, limit = limits[queue_id]
        yield Advice(
            name,
            "dead-letters-stay",
            f"Messages on {name} have used up their {limit:,} delivery attempts where"
            " dead letters go: they stay, and are delivered again after a while.",
            "Stop their consumer, or allow -1 attempts there.",
        )
