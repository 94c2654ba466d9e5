"""Bridge links as consumers of a queue of this broker, and the reason if they take
nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from broker.models import BridgeDestination, BridgeProcess, Link, LinkState, LinkStatus
from broker.models.bridge_names import RESUBMITS, THIS_BROKER

# A process without a heartbeat for this time counts as ended; it should write one every
# few seconds.
SILENT_AFTER = timedelta(seconds=30)
STANDS = {  # By state of a link: why the link takes no messages, and what to do.
    LinkState.UNINITIALIZED: ("was never started", "Start the link under Bridges."),
    LinkState.PAUSING: ("is paused", "Resume the link under Bridges."),
    LinkState.PAUSED: ("is paused", "Resume the link under Bridges."),
    LinkState.STOPPING: ("is stopped", "Start the link under Bridges."),
    LinkState.STOPPED: ("is stopped", "See why on its page, then start the link."),
}
CANNOT_CONNECT = ("cannot connect", "See why on its page. It tries again by itself.")
NO_PROCESS = "Start a bridge process: python manage.py broker_bridge."


@dataclass(frozen=True, slots=True)
class Standstill:
    """The reason why no link takes messages from a queue."""

    link: Link  # one of the links of the queue
    sentence: str
    remedy: str


def is_anybody_at_work() -> bool:
    """Whether at least one bridge process has written a recent heartbeat."""
    return BridgeProcess.objects.filter(heartbeat_at__gt=Now() - SILENT_AFTER).exists()


def taking_from(queue: str) -> list[LinkStatus]:
    """The status of the links that take from a queue of this broker: the queue is their
    source or their resubmit queue. One query."""
    every = LinkStatus.objects.select_related("link__bridge").order_by("link")
    is_source = Q(
        link__source_factory__provider=THIS_BROKER,
        link__source__kind=BridgeDestination.Kind.QUEUE,
        link__source__name=queue,
    )
    if queue.startswith(RESUBMITS):
        again = [one.pk for one in every if one.link.resubmit_queue == queue]
        is_source |= Q(pk__in=again)
    return list(every.filter(is_source))


def standstill(statuses: list[LinkStatus], queue: str) -> Standstill | None:
    """The reason why none of the links of a queue takes messages from it; None if a
    link does, or is starting. One query."""
    stands = [stand_of(one) for one in statuses]
    named = [
        f"{one.link} {why}" for one, (why, _) in zip(statuses, stands, strict=True)
    ]
    if all(why for why, _ in stands):
        (why, remedy), link = stands[0], statuses[0].link
        if len(statuses) == 1:
            sentence = f"The link {link} takes from {queue}, and {why}."
        else:
            sentence = f"No link takes from {queue} at present: {'; '.join(named)}."
        return Standstill(link, sentence, remedy)
    if not is_anybody_at_work():
        link = statuses[0].link
        sentence = f"The link {link} takes from {queue}, but no bridge process runs."
        return Standstill(link, sentence, NO_PROCESS)
    return None


def stand_of(status: LinkStatus) -> tuple[str, str]:
    """The reason why a link takes nothing, and what to do; empty if it runs or is
    starting."""
    if status.state == LinkState.STARTING and status.failures:
        return CANNOT_CONNECT
    return STANDS.get(LinkState(status.state), ("", ""))
