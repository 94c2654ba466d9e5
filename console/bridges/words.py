"""Texts about a link: ends, guarantee, settings, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, ngettext

from broker.bridges import standing
from broker.bridges.providers.interface import Capability
from broker.bridges.providers.registry import HERE, PROVIDERS
from broker.bridges.states import Command, state_after
from broker.errors.bridges import CommandRefused, Hold
from broker.formats.quantities import write_count, write_duration
from broker.models import (
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    LinkState,
    LinkStatus,
)
from broker.models.bridge_names import BUILT_IN_QUEUE

Kind = BridgeDestination.Kind

CHIPS: dict[str, str] = {  # the chip of each state
    LinkState.UNINITIALIZED: "gone",
    LinkState.STARTING: "delayed",
    LinkState.STARTED: "in-flight",
    LinkState.PAUSING: "delayed",
    LinkState.PAUSED: "held",
    LinkState.STOPPING: "delayed",
    LinkState.STOPPED: "gone",
}
ONCE = gettext_noop("Once and only once")
GUARANTEES = {
    "local": gettext_noop(
        "Once and only once, by one database transaction: both ends are here."
    ),
    "two-phase": gettext_noop(
        "Once and only once, by prepare and commit at both ends."
    ),
    "marker": gettext_noop(
        "Once and only once, by a marker queue in the other provider’s transaction."
    ),
    "duplicates": gettext_noop(
        "At least once, and duplicates are recognised: each message is stored here"
        " once, as long as its id is remembered."
    ),
    "none": gettext_noop(
        "None: it is transacted, and its provider has no transactions. It will not"
        " start. Make it a link without transactions, under Settings."
    ),
}
WAITS = {
    Hold.FULL: gettext_noop("waits: target full"),
    Hold.INHIBITED: gettext_noop("waits: target put-inhibited"),
}


@dataclass(frozen=True, slots=True)
class EndWords:
    """The source or the target of a link."""

    # the name at the provider; empty: the target has the name of the source
    destination: str
    kind: str  # queue or topic
    factory: str
    provider: str  # the kind of provider
    is_here: bool

    @property
    def is_queue_here(self) -> bool:
        return self.is_here and self.kind == Kind.QUEUE and bool(self.destination)


def ends_of(link: Link) -> tuple[EndWords, EndWords]:
    source = end_of(link.source_factory, link.source)
    return source, end_of(link.target_factory, link.target)


def end_of(factory: ConnectionFactory, at: BridgeDestination | None) -> EndWords:
    return EndWords(
        at.name if at else "",
        at.kind if at else "",
        factory.name,
        provider_of(factory),
        factory.provider == HERE,
    )


def provider_of(factory: ConnectionFactory) -> str:
    """The kind of provider that a connection factory connects to."""
    if factory.provider == "kombu":
        return gettext("%(scheme)s, by kombu") % {"scheme": scheme_of(factory.url)}
    known = PROVIDERS.get(factory.provider)
    return gettext(known.label).partition(" (")[0] if known else factory.provider


def scheme_of(url: str) -> str:
    try:
        return urlsplit(url).scheme or gettext("no URL")
    except ValueError:
        return gettext("no URL")


def guarantee_of(link: Link) -> str:
    """The delivery guarantee of a link, in a sentence."""
    others = [
        known
        for one in (link.source_factory, link.target_factory)
        if one.provider != HERE and (known := PROVIDERS.get(one.provider))
    ]
    if link.transacted:
        return gettext(GUARANTEES[way_of([one.capabilities for one in others])])
    if link.duplicate_detection and link.target_factory.provider == HERE:
        return gettext(GUARANTEES["duplicates"])
    told = {one.guarantee for one in others} or {"at least once"}
    words = capfirst(gettext(max(told, key=len)))
    return gettext("%(guarantee)s: after a fault, a message may come twice.") % {
        "guarantee": words
    }


def way_of(others: Sequence[Capability]) -> str:
    """How a transacted link coordinates the transactions of both ends."""
    if not others:
        return "local"
    if all(Capability.TWO_PHASE in one for one in others):
        return "two-phase"
    return "marker" if all(Capability.TRANSACTIONS in one for one in others) else "none"


def chip_of(status: LinkStatus) -> tuple[str, str]:
    """The chip and the label of a link's state."""
    if standing.has_failed(status):
        return "stopped", gettext("failed")
    if hold := standing.held_by(status):
        return "redelivery", gettext(WAITS[hold])
    if standing.is_troubled(status):
        return "redelivery", gettext("tries again")
    if not status.link.enabled and status.state in (
        LinkState.STOPPED,
        LinkState.UNINITIALIZED,
    ):
        return "gone", gettext("disabled")
    return CHIPS[status.state], str(LinkState(status.state).label)


def what_to_do(status: LinkStatus) -> str:
    """The recommended action for a link's last error; empty without an error."""
    if not status.error:
        return ""
    if standing.has_failed(status):
        return gettext("Fix that, then start the link: it continues where it stopped.")
    if standing.held_by(status):
        return gettext("Nothing failed: make room at the target, or allow puts to it.")
    if standing.is_troubled(status):
        return ngettext(
            "It failed %(n)s time in a row, and tries again by itself.",
            "It failed %(n)s times in a row, and tries again by itself.",
            status.failures,
        ) % {"n": write_count(status.failures)}
    return gettext("The problem is over: nothing to do.")


def commands_of(status: LinkStatus) -> list[Command]:
    """Commands that have an effect in the link's state. For a paused link this is
    resume, which equals start.
    """
    taken = [one for one in Command if changes(one, status)]
    if Command.RESUME in taken:
        taken.remove(Command.START)
    return taken


def changes(command: Command, status: LinkStatus) -> bool:
    link = status.link
    state = LinkState(status.state)
    try:
        to = state_after(command, state, enabled=link.enabled, link=str(link))
    except CommandRefused:
        return False
    return to is not None


def lag_in_words(link: Link, status: LinkStatus) -> str:
    """Why the number of waiting messages is unknown; empty if known."""
    if status.waiting is not None:
        return ""
    known = PROVIDERS.get(link.source_factory.provider)
    if known and Capability.LAG not in known.capabilities:
        return gettext("not told by this provider")
    return gettext("not asked yet")


def settings_of(link: Link) -> Iterator[tuple[str, str]]:
    """The settings of a link as names and sentences. One query."""
    yield gettext("Selector"), link.selector or gettext("none: all messages")
    if link.durable_name:
        yield gettext("Durable subscription"), link.durable_name
    yield (
        gettext("Reply-to"),
        gettext("kept")
        if link.retain_reply_to
        else gettext("removed: consumers at the target cannot answer here"),
    )
    yield from of_transformer(link)
    yield (
        gettext("Tag"),
        f"JMS_SUN_JMSBRIDGE_NAME = {link.bridge.name}"
        if link.bridge.tag_messages
        else gettext("none"),
    )
    if not link.transacted:
        refused = str(link.get_on_send_failure_display())
        yield gettext("If the target refuses one"), refused
    most = ngettext("%(n)s message at most", "%(n)s messages at most", link.batch) % {
        "n": write_count(link.batch)
    }
    yield gettext("Settled together"), most
    yield gettext("Tries to connect"), "; ".join(dict.fromkeys(attempts_of(link)))
    yield gettext("Dead messages go to"), dead_queues_of(link)
    yield (
        gettext("Starts by itself"),
        gettext("yes, with the bridge process")
        if link.enabled
        else gettext("no: it is disabled, and cannot be started"),
    )


def of_transformer(link: Link) -> Iterator[tuple[str, str]]:
    if not link.transformer:
        yield gettext("Transformer"), gettext("none")
        return
    said = link.transformer
    if limit := link.transformer_time_limit_s:
        said = gettext("%(transformer)s, within %(time)s") % {
            "transformer": link.transformer,
            "time": write_duration(limit),
        }
    yield gettext("Transformer"), said
    if link.transform_failure == Link.TransformFailure.TRANSFER:
        said = gettext("a dead message is kept, and the message is sent untransformed")
    elif link.consume_on_transform_error:
        said = gettext(
            "a dead message is kept, the message is not sent, and the link continues"
        )
    else:
        said = gettext("the link stops, and the message stays at its source")
    yield gettext("If the transformer fails"), said


def attempts_of(link: Link) -> Iterator[str]:
    for one in (link.source_factory, link.target_factory):
        if one.provider != HERE:
            values = {
                "n": one.connect_attempts,
                "time": write_duration(one.connect_interval_s),
            }
            if one.connect_attempts < 0:
                yield gettext("for ever, every %(time)s") % values
            else:
                yield gettext("%(n)s×, every %(time)s") % values
    if link.source_factory.provider == link.target_factory.provider == HERE:
        yield gettext("not needed: both ends are here")


def dead_queues_of(link: Link) -> str:
    """The queues to which dead messages go, in their order."""
    found = [gettext("%(queue)s here") % {"queue": BUILT_IN_QUEUE}]
    more = DeadMessageQueue.objects.filter(bridge=link.bridge_id, enabled=True)
    for one in more.select_related("destination", "factory"):
        values = {"queue": one.destination.name, "connection": one.factory.name}
        found.append(gettext("%(queue)s at %(connection)s") % values)
    return f", {gettext('then')} ".join(found)
