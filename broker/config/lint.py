"""Warnings on settings that are valid but may lose or block messages.

Nothing is refused. The warnings are shown where settings are changed and to operators.
Each rule is a function over a configuration, which is read once for all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_noop

from broker import sql
from broker.config.address_settings import Policy, policy_of
from broker.config.advice import Advice
from broker.config.circles import of_circles
from broker.config.configuration import Configuration, QueueRow, stored
from broker.config.dead_letter_routes import of_dead_letter_addresses
from broker.formats.mq import mqdlh
from broker.formats.quantities import write_stored
from broker.formats.sentences import say
from broker.models import AddressSetting, ModelQueue, Queue

# Functions of packages above this one that warn of temporary states. A warning is shown
# only for a change that leads to the state; later there is nothing to fix.
PASSING: list[Callable[[], Iterable[Advice]]] = []
FULL = 0.8  # share of max depth above which a dead letter queue counts as nearly full


def advice(about: Configuration | None = None) -> list[Advice]:
    """All warnings on a configuration, by queue; by default on what is stored now, with
    about twelve queries, which read only queues that can have a warning; and one for
    each dead letter address that has no queue."""
    configuration = about or stored()
    found = list(of_dead_letter_queue(configuration))
    for model in configuration.models:
        found += of_backout_queue(model, configuration)
    for queue in configuration.queues.values():
        found += of_backout_queue(queue, configuration)
        if queue.backout_threshold:
            found += of_policy(queue, configuration.merged(queue.address))
    for rule in configuration.rules:
        found += of_setting(rule)
    found += of_dead_letter_addresses(configuration)
    found += of_circles(configuration)
    return sorted(found, key=lambda one: (one.queue, one.code))


@contextmanager
def advised() -> Iterator[list[Advice]]:
    """A list that gets the warnings which a change adds, when it is made."""
    found: list[Advice] = []
    before = set(advice_and_passing())
    yield found
    found += [one for one in advice_and_passing() if one not in before]


def advice_and_passing() -> list[Advice]:
    return [*advice(), *(one for source in PASSING for one in source())]


def foreseen(change: Callable[[], object]) -> list[Advice]:
    """The warnings that a change would add: the change is made, and rolled back."""
    with transaction.atomic():
        with advised() as found:
            change()
        transaction.set_rollback(True)
    return found


def of_backout_queue(
    queue: QueueRow | ModelQueue, configuration: Configuration
) -> Iterator[Advice]:
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
                say(
                    gettext_noop(
                        "%(name)s has a backout threshold of %(backout_threshold)s"
                        " and no backout queue: poison messages go to the dead letter"
                        " queue, or are discarded if they ask for that."
                    ),
                    name=name,
                    backout_threshold=queue.backout_threshold,
                ),
                gettext_noop("Name a backout queue."),
            )
        return
    found = configuration.queue(target)
    if found is None:
        yield Advice(
            name,
            "no-such-backout-queue",
            say(
                gettext_noop(
                    "The backout queue of %(name)s, %(target)s, does not exist:"
                    " no message can be moved to it."
                ),
                name=name,
                target=target,
            ),
            gettext_noop("Create it, or name another one."),
        )
    elif found.name == name:
        yield Advice(
            name,
            "own-backout-queue",
            say(
                gettext_noop(
                    "%(name)s is its own backout queue: poison messages come back"
                    " to it, their backouts counted from 0, for ever."
                ),
                name=name,
            ),
            gettext_noop("Name another queue."),
        )


def of_policy(queue: QueueRow, setting: AddressSetting) -> Iterator[Advice]:
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
            say(
                gettext_noop(
                    "%(name)s has the poison policy “both” and a backout"
                    " threshold of %(threshold)s, but messages leave it at their"
                    " backout number %(attempts)s: the threshold is never"
                    " reached."
                ),
                name=queue.name,
                threshold=threshold,
                attempts=attempts,
            ),
            say(
                gettext_noop(
                    "Set a threshold below %(attempts)s, or allow more delivery"
                    " attempts."
                ),
                attempts=attempts,
            ),
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
            say(
                gettext_noop(
                    "The address setting %(name)s allows 0 delivery attempts,"
                    " which means no limit: no message is ever a dead letter for"
                    " its attempts."
                ),
                name=name,
            ),
            gettext_noop("Say -1 if that is meant; 1 is one delivery and no more."),
        )
    delay, cap = setting.redelivery_delay_ms, setting.max_redelivery_delay_ms
    if delay is not None and cap is not None and cap < delay:
        most = write_stored(cap, "_ms")
        yield Advice(
            name,
            "delay-above-its-cap",
            say(
                gettext_noop(
                    "The address setting %(name)s has a redelivery delay of"
                    " %(delay)s, but lets no delay be longer than %(most)s: every"
                    " one is %(most)s."
                ),
                name=name,
                delay=write_stored(delay, "_ms"),
                most=most,
            ),
            gettext_noop("Raise the max redelivery delay, or leave it empty."),
        )
    shortest, longest = setting.min_expiry_delay_ms, setting.max_expiry_delay_ms
    if shortest is not None and longest is not None and shortest > longest >= 0:
        yield Advice(
            name,
            "expiry-delays-crossed",
            say(
                gettext_noop(
                    "The address setting %(name)s has a min expiry delay of"
                    " %(shortest)s, above its max of %(longest)s: both are"
                    " applied, and contradict."
                ),
                name=name,
                shortest=write_stored(shortest, "_ms"),
                longest=write_stored(longest, "_ms"),
            ),
            gettext_noop("Lower the one, or raise the other."),
        )


def of_dead_letter_queue(configuration: Configuration) -> Iterator[Advice]:
    """Warnings on the broker's dead letter queue, the last resort for poison messages.

    Source:
        IBM MQ classes for JMS, "Removing messages from the queue in ASF": it should
        exist, be monitored, have room, and take the largest message and its header.
    """
    name = settings.BROKER_DEAD_LETTER_QUEUE
    dead = configuration.queue(name)
    if dead is None:
        yield Advice(
            name,
            "no-dead-letter-queue",
            say(
                gettext_noop(
                    "The broker’s dead letter queue, %(name)s, does not exist:"
                    " what cannot be put anywhere else is lost, or stops its"
                    " consumers."
                ),
                name=name,
            ),
            gettext_noop("Create it, or name another one (BROKER_DEAD_LETTER_QUEUE)."),
        )
    else:
        yield from of_its_room(dead, configuration)


def of_its_room(dead: QueueRow, configuration: Configuration) -> Iterator[Advice]:
    """Warnings on a dead letter queue that exists: puts, depth, size of messages."""
    found = dead.name
    if dead.put_inhibited:
        yield Advice(
            found,
            "dead-letter-queue-inhibited",
            say(
                gettext_noop(
                    "The dead letter queue %(found)s is put-inhibited: what"
                    " cannot be put anywhere else is lost, or stops its"
                    " consumers."
                ),
                found=found,
            ),
            gettext_noop("Allow puts."),
        )
    if dead.max_depth is not None:
        depth = sql.fetch_one("depth", queue_id=dead.pk)[0] if dead.pk else 0
        if depth > dead.max_depth * FULL:
            yield Advice(
                found,
                "dead-letter-queue-fills",
                say(
                    gettext_noop(
                        "The dead letter queue %(found)s is more than 80 %% full: it"
                        " holds %(depth)s of %(max_depth)s messages."
                    ),
                    found=found,
                    depth=depth,
                    max_depth=dead.max_depth,
                ),
                gettext_noop("Resubmit or discard some, or raise its max depth."),
            )
    if dead.max_message_bytes is None:
        return
    largest = largest_beside(found, configuration) + mqdlh.SIZE
    if dead.max_message_bytes < largest:
        yield Advice(
            found,
            "dead-letter-queue-too-short",
            say(
                gettext_noop(
                    "The dead letter queue %(found)s takes %(max_message_bytes)s"
                    " bytes a message, but the largest that queues hold have"
                    " %(largest)s with a dead letter header."
                ),
                found=found,
                max_message_bytes=dead.max_message_bytes,
                largest=largest,
            ),
            say(
                gettext_noop(
                    "Raise its max message bytes to %(largest)s, or leave them empty."
                ),
                largest=largest,
            ),
        )


def largest_beside(name: str, configuration: Configuration) -> int:
    """The largest size in bytes that a message on any other queue can have. One
    query."""
    usual = int(settings.BROKER_MAX_MESSAGE_BYTES)
    planned = configuration.changes.queues
    others = Queue.objects.exclude(name__in={name, *planned})
    limit = Coalesce("max_message_bytes", usual)
    found = int(others.aggregate(largest=Max(limit, default=0))["largest"])
    new = [one for one in planned.values() if one is not None and one.name != name]
    return max([found, *(one.max_message_bytes or usual for one in new)])
