"""Warnings on dead letter addresses that lose messages.

Each rule is a function over a configuration, as in ``lint``.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_noop

from broker.config.address_settings import Policy
from broker.config.advice import Advice
from broker.config.configuration import Configuration, changed
from broker.formats.quantities import write_stored
from broker.formats.sentences import say
from broker.models import Address, AddressSetting, Delayed

LOOKED_AT = 1000  # most delayed messages that are examined


def of_dead_letter_addresses(found: Configuration) -> Iterator[Advice]:
    """Warnings on all dead letter addresses. One query, and one for each address that
    has no queue.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: what no queue of the dead
        letter address takes is dropped.
    """
    yield from of_attempts(found)
    for rule in found.rules:
        if rule.dead_letter_address:
            yield from of_takers(rule, rule.dead_letter_address, found)
            yield from of_expiry(rule, rule.dead_letter_address, found)
    yield from of_those_that_stay(found)


STAY_AFTER_ONE = gettext_noop(
    "Messages on %(name)s have used up their %(n)s delivery attempt where dead letters"
    " go: they stay, and are delivered again after a while."
)
STAY_AFTER_ALL = gettext_noop(
    "Messages on %(name)s have used up their %(n)s delivery attempts where dead letters"
    " go: they stay, and are delivered again after a while."
)


def of_attempts(found: Configuration) -> Iterator[Advice]:
    """Warn about a limit of attempts without a dead letter address."""
    for rule in found.rules:
        if (rule.max_delivery_attempts or 0) <= 0:
            continue
        merged = found.merged(rule.match)
        counts = merged.poison_policy in (None, Policy.ARTEMIS, Policy.BOTH)
        if counts and not merged.dead_letter_address:
            yield Advice(
                rule.match,
                "attempts-without-address",
                attempts_are_few(rule),
                gettext_noop("Name a dead letter address, or say -1 for no limit."),
            )


def of_takers(rule: AddressSetting, to: str, found: Configuration) -> Iterator[Advice]:
    """Warn about an address that takes no dead letters, or only some."""
    queues = found.fed_by(to)
    makes = found.merged(rule.match).auto_create_dead_letter_resources
    if queues and all(one.selector for one in queues):
        yield Advice(
            rule.match,
            "dead-letters-match-nothing",
            say(
                gettext_noop(
                    "Each queue of %(to)s, the dead letter address of %(match)s,"
                    " has a selector: dead letters that none of them matches are"
                    " discarded."
                ),
                to=to,
                match=rule.match,
            ),
            gettext_noop("Add a queue without a selector."),
        )
    if queues or makes:
        return
    there = {one.lower(): one for one in addresses_like(to, found)}
    is_there = to in there.values()
    what = "has no queue" if is_there else "does not exist"
    alike = there.get(to.lower())
    hint = f" Is {alike} meant?" if alike and not is_there else ""
    yield Advice(
        rule.match,
        "dead-letter-address-without-queue",
        say(
            gettext_noop(
                "%(to)s, the dead letter address of %(match)s, %(what)s: dead"
                " letters are discarded."
            ),
            to=to,
            match=rule.match,
            what=what,
        ),
        say(
            gettext_noop("Create a queue on it, or correct the name.%(hint)s"),
            hint=hint,
        ),
    )


def addresses_like(name: str, found: Configuration) -> list[str]:
    """The addresses with this name in any case; the name itself comes last."""
    alike = Address.objects.filter(name__iexact=name).values_list("name", flat=True)
    new = {
        k: v for k, v in found.changes.addresses.items() if k.lower() == name.lower()
    }
    return sorted(
        changed({one: one for one in alike}, new), key=lambda one: one == name
    )


def of_expiry(rule: AddressSetting, to: str, found: Configuration) -> Iterator[Advice]:
    """Warn about dead letters that expire."""
    merged = found.merged(to)
    delays = (merged.expiry_delay_ms, merged.max_expiry_delay_ms)
    lives_ms = next((one for one in delays if one is not None and one >= 0), None)
    if merged.no_expiry or lives_ms is None:
        return
    goes = merged.expiry_address
    end = f"go to {goes}" if goes and goes != to else "are discarded"
    yield Advice(
        rule.match,
        "dead-letters-expire",
        say(
            gettext_noop(
                "The settings of %(to)s, the dead letter address of"
                " %(match)s, let its messages expire after %(lives_ms)s: dead"
                " letters then %(end)s."
            ),
            to=to,
            match=rule.match,
            lives_ms=write_stored(lives_ms, "_ms"),
            end=end,
        ),
        say(gettext_noop("Set “no expiry” for %(to)s, or allow more time."), to=to),
    )


def attempts_are_few(rule: AddressSetting) -> str:
    attempts = rule.max_delivery_attempts or 0
    text = gettext_noop(
        "The address setting %(match)s allows %(n)s delivery attempts, and no dead"
        " letter address is set: then messages are discarded."
    )
    if attempts == 1:
        text = gettext_noop(
            "The address setting %(match)s allows %(n)s delivery attempt, and no dead"
            " letter address is set: then messages are discarded."
        )
    return say(text, match=rule.match, n=attempts)


def of_those_that_stay(found: Configuration) -> Iterator[Advice]:
    """Warn about dead letter queues with messages that used up their attempts there."""
    limits: dict[int, tuple[str, int]] = {}
    for to in {rule.dead_letter_address or "" for rule in found.rules} - {""}:
        merged = found.merged(to)
        limit = merged.max_delivery_attempts or 0
        if limit > 0 and merged.dead_letter_address == to:
            limits |= {one.pk: (one.name, limit) for one in found.fed_by(to) if one.pk}
    if not limits:
        return
    waiting = Delayed.objects.filter(queue_id__in=list(limits))
    held = waiting.values_list("queue_id", "backout_count")[:LOOKED_AT]
    for queue_id in sorted({one for one, count in held if count >= limits[one][1]}):
        name, limit = limits[queue_id]
        yield Advice(
            name,
            "dead-letters-stay",
            say(STAY_AFTER_ONE if limit == 1 else STAY_AFTER_ALL, name=name, n=limit),
            gettext_noop("Stop their consumer, or allow -1 attempts there."),
        )
