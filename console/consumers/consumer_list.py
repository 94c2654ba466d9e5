"""ConnectionConsumers as far as a user may see them: stopped queues, and who runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from broker.client.dispatch import stoppages
from broker.errors.mq_codes import Reason
from broker.models import ConnectionConsumer, Owner, Stoppage
from broker.queueing.journal import Depth, depths
from broker.security import authorities
from console.queues.queue_consumers import process_of

EARLIER = 20  # the most ended stoppages that are shown
# the permission to stop a queue is the permission to start it
START = "broker.pause_queue"
# what to do when the dead letter queue refused a message, by reason
REMEDIES: dict[int, str] = {
    Reason.UNKNOWN_OBJECT_NAME: gettext_noop(
        "Create the queue {} with an address of that name."
    ),
    Reason.Q_FULL: gettext_noop(
        "Make room on {}: resubmit or discard messages there, or raise its max depth."
    ),
    Reason.PUT_INHIBITED: gettext_noop(
        "Allow puts on {} again: switch “put inhibited” off."
    ),
    Reason.MSG_TOO_BIG_FOR_Q: gettext_noop(
        "Let {} take larger messages: raise its max message bytes to those of this"
        " queue and 172 for the dead letter header."
    ),
    Reason.MSG_TOO_BIG_FOR_Q_MGR: gettext_noop(
        "Let the broker take larger messages (BROKER_MAX_MESSAGE_BYTES), so that this"
        " one and a header go on {}."
    ),
    Reason.NOT_AUTHORIZED: gettext_noop(
        "Grant the handler’s user the authorities put and passall on {}."
    ),
}
OTHERWISE = gettext_noop(
    "Remove the obstacle named above, so that {} accepts the message."
)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A queue with stopped delivery to ConnectionConsumers, as the page shows it."""

    stoppage: Stoppage
    waiting: int
    may_start: bool

    @property
    def remedy(self) -> str:
        words = gettext(REMEDIES.get(self.stoppage.reason, OTHERWISE))
        return words.format(settings.BROKER_DEAD_LETTER_QUEUE)


@dataclass(frozen=True, slots=True)
class Running:
    """One ConnectionConsumer, and its process."""

    consumer: ConnectionConsumer
    owner: Owner | None

    @property
    def process(self) -> str:
        return process_of(self.owner)


@dataclass(frozen=True, slots=True)
class ConsumerList:
    """Stopped queues, those that run, and stoppages that have ended."""

    stopped: Sequence[Stopped]
    running: Sequence[Running]
    over: Sequence[Stoppage]  # stoppages that have ended, the latest first


def listed(
    held: authorities.GrantedAuthorities, *, has_permission: bool
) -> ConsumerList:
    """What the user may see of all ConnectionConsumers.

    Args:
        held: the authorities of the user.
        has_permission: whether the user has the permission to start delivery.
    """
    counts = depths()
    rows = ConnectionConsumer.objects.select_related("queue").order_by(
        "queue__name", "selector", "pk"
    )
    owners = Owner.objects.in_bulk()
    over = (
        Stoppage.objects.exclude(cleared_at=None)
        .select_related("queue", "cleared_by")
        .order_by("-cleared_at", "-pk")
    )
    return ConsumerList(
        [
            Stopped(
                one,
                counts.get(one.queue_id, Depth()).ready,
                has_permission and held.on("set", one.queue.name),
            )
            for one in stoppages.standing()
            if held.on("inquire", one.queue.name)
        ],
        [
            Running(one, owners.get(one.owner_id))
            for one in rows
            if held.on("inquire", one.queue.name)
        ],
        [one for one in over[:EARLIER] if held.on("inquire", one.queue.name)],
    )
