"""Bridge links as consumers of a queue of this broker, and the reason if they take
nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.models import BridgeDestination, BridgeProcess, Link, LinkState, LinkStatus
from broker.models.bridge_names import RESUBMITS, THIS_BROKER

# A process without a heartbeat for this time counts as ended; it should write one every
# few seconds.
SILENT_AFTER = timedelta(seconds=30)
WAS_NEVER_STARTED = gettext_noop("was never started")
IS_PAUSED = gettext_noop("is paused")
IS_STOPPED = gettext_noop("is stopped")
RESUME = gettext_noop("Resume the link under Bridges.")
START = gettext_noop("Start the link under Bridges.")
STANDS = {  # By state of a link: why the link takes no messages, and what to do.
    LinkState.UNINITIALIZED: (WAS_NEVER_STARTED, START),
    LinkState.PAUSING: (IS_PAUSED, RESUME),
    LinkState.PAUSED: (IS_PAUSED, RESUME),
    LinkState.STOPPING: (IS_STOPPED, START),
    LinkState.STOPPED: (
        IS_STOPPED,
        gettext_noop("See why on its page, then start the link."),
    ),
}
CANNOT_CONNECT = (
    gettext_noop("cannot connect"),
    gettext_noop("See why on its page. It tries again by itself."),
)
NO_PROCESS = gettext_noop("Start a bridge process: python manage.py broker_bridge.")


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
    named = tuple(
        say("%(link)s %(why)s", link=str(one.link), why=say(why))
        for one, (why, _) in zip(statuses, stands, strict=True)
    )
    if all(why for why, _ in stands):
        (why, remedy), link = stands[0], statuses[0].link
        text = gettext_noop("No link takes from %(queue)s at present: %(links)s.")
        if len(named) == 1:
            text = gettext_noop("The link %(link)s takes from %(queue)s, and %(why)s.")
        sentence = say(text, queue=queue, links=named, link=str(link), why=say(why))
        return Standstill(link, sentence, remedy)
    if not is_anybody_at_work():
        link = statuses[0].link
        text = gettext_noop(
            "The link %(link)s takes from %(queue)s, but no bridge process runs."
        )
        sentence = say(text, link=str(link), queue=queue)
        return Standstill(link, sentence, NO_PROCESS)
    return None


def stand_of(status: LinkStatus) -> tuple[str, str]:
    """The reason why a link takes nothing, and what to do; empty if it runs or is
    starting."""
    if status.state == LinkState.STARTING and status.failures:
        return CANNOT_CONNECT
    return STANDS.get(LinkState(status.state), ("", ""))
