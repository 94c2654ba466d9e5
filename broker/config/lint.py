"""Warnings on settings that are valid but may lose or block messages.

Nothing is refused. The warnings are shown where settings are changed and to operators.
Each rule is a function over stored settings; ``advice`` reads these once for all rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Max, Q
from django.db.models.functions import Coalesce

from broker import sql
from broker.config.address_settings import Policy, merge, policy_of
from broker.config.advice import Advice
from broker.config.dead_letter_routes import of_dead_letter_addresses
from broker.formats.mq import mqdlh
from broker.models import AddressSetting, ModelQueue, Queue, QueueAlias

FULL = 0.8  # share of max depth above which a dead letter queue counts as nearly full


@dataclass(frozen=True, slots=True)
class Names:
    """Queues and aliases, to resolve names of queues."""

    queues: Collection[str]
    aliases: Mapping[str, str]  # targets of aliases, by name of the alias
    # Names of the queues of each address, by address.
    fed: Mapping[str, Collection[str]]

    def queue(self, name: str) -> str | None:
        """The queue that a name refers to; by the same rules as
        ``broker.config.names``."""
        if name in self.queues:
            return name
        target = self.aliases.get(name)
        if target in self.queues:
            return target
        fed = list(self.fed.get(target or "", ()))
        return fed[0] if len(fed) == 1 else None


def advice() -> list[Advice]:
    """All present warnings, by queue. Nine queries, which read only queues that can
    have a warning; and one for each dead letter address that has no queue."""
    moves = Q(backout_threshold__gt=0) | ~Q(backout_queue="")
    queues = list(Queue.objects.filter(moves).select_related("address"))
    models = list(ModelQueue.objects.all())
    rules = list(AddressSetting.objects.all())
    names = names_among({one.backout_queue for one in (*queues, *models)})
    found = list(of_dead_letter_queue(names))
    for model in models:
        found += of_backout_queue(model, names)
    for queue in queues:
        found += of_backout_queue(queue, names)
        if queue.backout_threshold:
            found += of_policy(queue, merge(queue.address.name, rules))
    for rule in rules:
        found += of_setting(rule)
    found += of_dead_letter_addresses(rules)
    return sorted(found, key=lambda one: (one.queue, one.code))


def names_among(wanted: Iterable[str]) -> Names:
    """The queues and aliases with these names, and the broker's dead letter queue.
    Three queries."""
    aliases = dict(QueueAlias.objects.values_list("name", "target"))
    meant = {*wanted, settings.BROKER_DEAD_LETTER_QUEUE, *aliases.values()}
    queues = set(Queue.objects.filter(name__in=meant).values_list("name", flat=True))
    fed: dict[str, list[str]] = {}
    feeding = Queue.objects.filter(address__name__in={*aliases.values()})
    for address, name in feeding.values_list("address__name", "name").order_by("name"):
        fed.setdefault(address, []).append(name)
    return Names(queues, aliases, fed)


def of_backout_queue(queue: Queue | ModelQueue, names: Names) -> Iterator[Advice]:
    """Warnings on a queue whose backout queue is not set, missing, or the queue itself.

    Source:
        IBM MQ classes for JMS, "Handling poison messages": without a backout queue the
        message's report options decide, and a dead letter queue that is missing loses
        it or blocks it.
    """
    name, target = queue.name, queue.backout_queue
    if not target:
        if queue.backout_threshold:
            yield Advice(
                name,
                "threshold-without-backout-queue",
                f"{name} has a backout threshold of {queue.backout_threshold:,} and no"
                " backout queue: poison messages go to the dead letter queue, or are"
                " discarded if they ask for that.",
                "Name a backout queue.",
            )
        return
    found = names.queue(target)
    if found is None:
        yield Advice(
            name,
            "no-such-backout-queue",
            f"The backout queue of {name}, {target}, does not exist: no message can be"
            " moved to it.",
            "Create it, or name another one.",
        )
    elif found == name:
        yield Advice(
            name,
            "own-backout-queue",
            f"{name} is its own backout queue: poison messages come back to it, their"
            " backouts counted from 0, for ever.",
            "Name another queue.",
        )


def of_policy(queue: Queue, setting: AddressSetting) -> Iterator[Advice]:
    """Warn if the backout threshold can never be reached.

    Args:
        queue: a queue with a backout threshold.
        setting: the merged settings of the queue's address.
    """
    threshold, attempts = queue.backout_threshold, setting.max_delivery_attempts or 0
    if policy_of(setting, threshold) == Policy.BOTH and threshold >= attempts > 0:
        yield Advice(
            queue.name,
            "threshold-never-reached",
            f"{queue.name} has the poison policy “both” and a backout threshold of"
            f" {threshold:,}, but messages leave it at their backout number"
            f" {attempts:,}: the threshold is never reached.",
            f"Set a threshold below {attempts:,}, or allow more delivery attempts.",
        )


def of_setting(setting: AddressSetting) -> Iterator[Advice]:
    """Warnings on one setting whose fields contradict, or are easily misread.

    Source:
        ActiveMQ Artemis manual, "Configuring Dead Letter Addresses": unlimited is -1;
        its code takes 0 for the same.
    """
    name = setting.match
    if setting.max_delivery_attempts == 0:
        yield Advice(
            name,
            "attempts-of-zero",
            f"The address setting {name} allows 0 delivery attempts, which means no"
            " limit: no message is ever a dead letter for its attempts.",
            "Say -1 if that is meant; 1 is one delivery and no more.",
        )
    delay, cap = setting.redelivery_delay_ms, setting.max_redelivery_delay_ms
    if delay is not None and cap is not None and cap < delay:
        yield Advice(
            name,
            "delay-above-its-cap",
            f"The address setting {name} has a redelivery delay of {delay:,} ms, but"
            f" lets no delay be longer than {cap:,} ms: every one is {cap:,} ms.",
            "Raise the max redelivery delay, or leave it empty.",
        )
    shortest, longest = setting.min_expiry_delay_ms, setting.max_expiry_delay_ms
    if shortest is not None and longest is not None and shortest > longest >= 0:
        yield Advice(
            name,
            "expiry-delays-crossed",
            f"The address setting {name} has a min expiry delay of {shortest:,} ms,"
            f" above its max of {longest:,} ms: both are applied, and contradict.",
            "Lower the one, or raise the other.",
        )


def of_dead_letter_queue(names: Names) -> Iterator[Advice]:
    """Warnings on the broker's dead letter queue, the last resort for poison messages.

    Source:
        IBM MQ classes for JMS, "Removing messages from the queue in ASF": it should
        exist, be monitored, have room, and take the largest message and its header.
    """
    name = settings.BROKER_DEAD_LETTER_QUEUE
    found = names.queue(name)
    if found is None:
        yield Advice(
            name,
            "no-dead-letter-queue",
            f"The broker’s dead letter queue, {name}, does not exist: what cannot be"
            " put anywhere else is lost, or stops its consumers.",
            "Create it, or name another one (BROKER_DEAD_LETTER_QUEUE).",
        )
        return
    dead = Queue.objects.get(name=found)
    if dead.put_inhibited:
        yield Advice(
            found,
            "dead-letter-queue-inhibited",
            f"The dead letter queue {found} is put-inhibited: what cannot be put"
            " anywhere else is lost, or stops its consumers.",
            "Allow puts.",
        )
    if dead.max_depth is not None:
        (depth,) = sql.fetch_one("depth", queue_id=dead.pk)
        if depth > dead.max_depth * FULL:
            yield Advice(
                found,
                "dead-letter-queue-fills",
                f"The dead letter queue {found} is more than 80 % full: it holds"
                f" {depth:,} of {dead.max_depth:,} messages.",
                "Resubmit or discard some, or raise its max depth.",
            )
    if dead.max_message_bytes is None:
        return
    largest = largest_beside(found) + mqdlh.SIZE
    if dead.max_message_bytes < largest:
        yield Advice(
            found,
            "dead-letter-queue-too-short",
            f"The dead letter queue {found} takes {dead.max_message_bytes:,} bytes a"
            f" message, but the largest that queues hold have {largest:,} with a dead"
            " letter header.",
            f"Raise its max message bytes to {largest:,}, or leave them empty.",
        )


def largest_beside(name: str) -> int:
    """The largest size in bytes that a message on any other queue can have. One
    query."""
    limit = Coalesce("max_message_bytes", int(settings.BROKER_MAX_MESSAGE_BYTES))
    others = Queue.objects.exclude(name=name)
    return int(others.aggregate(largest=Max(limit, default=0))["largest"])
