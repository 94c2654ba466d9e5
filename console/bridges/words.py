"""Texts about a link: ends, guarantee, settings, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from broker.bridges import standing
from broker.bridges.providers.interface import Capability
from broker.bridges.providers.registry import HERE, PROVIDERS
from broker.bridges.states import Command, state_after
from broker.errors.bridges import CommandRefused
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
ONCE = "Once and only once"
GUARANTEES = {
    "local": f"{ONCE}, by one database transaction: both ends are here.",
    "two-phase": f"{ONCE}, by prepare and commit at both ends.",
    "marker": f"{ONCE}, by a marker queue in the other provider’s transaction.",
    "duplicates": "At least once, and duplicates are recognised: each message is stored"
    " here once, as long as its id is remembered.",
    "none": "None: it is transacted, and its provider has no transactions. It will not"
    " start. Make it a link without transactions, under Settings.",
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
        return f"{scheme_of(factory.url)}, by kombu"
    known = PROVIDERS.get(factory.provider)
    return known.label.partition(" (")[0] if known else factory.provider


def scheme_of(url: str) -> str:
    try:
        return urlsplit(url).scheme or "no URL"
    except ValueError:
        return "no URL"


def guarantee_of(link: Link) -> str:
    """The delivery guarantee of a link, in a sentence."""
    others = [
        known
        for one in (link.source_factory, link.target_factory)
        if one.provider != HERE and (known := PROVIDERS.get(one.provider))
    ]
    if link.transacted:
        return GUARANTEES[way_of([one.capabilities for one in others])]
    if link.duplicate_detection and link.target_factory.provider == HERE:
        return GUARANTEES["duplicates"]
    told = {one.guarantee for one in others} or {"at least once"}
    words = max(told, key=len)
    return f"{words[0].upper()}{words[1:]}: after a fault, a message may come twice."


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
        return "stopped", "failed"
    if hold := standing.held_by(status):
        return "redelivery", f"waits: target {hold}"
    if standing.is_troubled(status):
        return "redelivery", "tries again"
    if not status.link.enabled and status.state in (
        LinkState.STOPPED,
        LinkState.UNINITIALIZED,
    ):
        return "gone", "disabled"
    return CHIPS[status.state], str(LinkState(status.state).label)


def what_to_do(status: LinkStatus) -> str:
    """The recommended action for a link's last error; empty without an error."""
    if not status.error:
        return ""
    if standing.has_failed(status):
        return "Fix that, then start the link: it continues where it stopped."
    if standing.held_by(status):
        return "Nothing failed: make room at the target, or allow puts to it."
    if standing.is_troubled(status):
        times = write_count(status.failures, "time")
        return f"It failed {times} in a row, and tries again by itself."
    return "The problem is over: nothing to do."


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
        return "not told by this provider"
    return "not asked yet"


def settings_of(link: Link) -> Iterator[tuple[str, str]]:
    """The settings of a link as names and sentences. One query."""
    yield "Selector", link.selector or "none: all messages"
    if link.durable_name:
        yield "Durable subscription", link.durable_name
    yield (
        "Reply-to",
        "kept"
        if link.retain_reply_to
        else "removed: consumers at the target cannot answer here",
    )
    yield from of_transformer(link)
    yield (
        "Tag",
        f"JMS_SUN_JMSBRIDGE_NAME = {link.bridge.name}"
        if link.bridge.tag_messages
        else "none",
    )
    if not link.transacted:
        yield "If the target refuses one", str(link.get_on_send_failure_display())
    yield "Settled together", f"{link.batch:,} messages at most"
    yield "Tries to connect", "; ".join(dict.fromkeys(attempts_of(link)))
    yield "Dead messages go to", ", then ".join(dead_queues_of(link))
    yield (
        "Starts by itself",
        "yes, with the bridge process"
        if link.enabled
        else "no: it is disabled, and cannot be started",
    )


def of_transformer(link: Link) -> Iterator[tuple[str, str]]:
    if not link.transformer:
        yield "Transformer", "none"
        return
    limit = link.transformer_time_limit_s
    within = f", within {write_duration(limit)}" if limit else ""
    yield "Transformer", f"{link.transformer}{within}"
    if link.transform_failure == Link.TransformFailure.TRANSFER:
        said = "a dead message is kept, and the message is sent untransformed"
    elif link.consume_on_transform_error:
        said = "a dead message is kept, the message is not sent, and the link continues"
    else:
        said = "the link stops, and the message stays at its source"
    yield "If the transformer fails", said


def attempts_of(link: Link) -> Iterator[str]:
    for one in (link.source_factory, link.target_factory):
        if one.provider != HERE:
            times = (
                "for ever" if one.connect_attempts < 0 else f"{one.connect_attempts}×"
            )
            yield f"{times}, every {write_duration(one.connect_interval_s)}"
    if link.source_factory.provider == link.target_factory.provider == HERE:
        yield "not needed: both ends are here"


def dead_queues_of(link: Link) -> Iterator[str]:
    yield f"{BUILT_IN_QUEUE} here"
    more = DeadMessageQueue.objects.filter(bridge=link.bridge_id, enabled=True)
    for one in more.select_related("destination", "factory"):
        yield f"{one.destination.name} at {one.factory.name}"
