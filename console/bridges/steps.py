"""The steps of a message through a link, with the number of messages at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.models import Link, LinkStatus


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of messages, and their outcome."""

    name: str  # name of the count, for live updates
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class LinkStep:
    """A step of a link, and the messages that leave there."""

    name: str
    says: str
    figures: Sequence[Figure] = ()  # counts of messages that go on to the next step
    exits: Sequence[Figure] = ()  # counts of messages that leave the link at this step


def steps_of(link: Link, status: LinkStatus) -> Iterator[LinkStep]:
    """The steps of the manual, in their order."""

    def figure(name: str, words: str) -> Figure:
        return Figure(name, getattr(status, name), words)

    yield LinkStep(
        "Receive",
        "in a transaction" if link.transacted else "one by one, in order",
        [figure("received", "received")],
        [
            figure("duplicates", "known already"),
            figure("looped", "came back in a loop"),
        ],
    )
    yield LinkStep(
        "Check expiry",
        "what has expired is not sent",
        exits=[figure("expired", "expired")],
    )
    yield LinkStep(
        "Transform",
        f"reply-to {'kept' if link.retain_reply_to else 'removed'}; "
        + ("by a transformer" if link.transformer else "no transformer"),
        [figure("transformed", "transformed")] if link.transformer else [],
        [
            figure("not_transferred", "not transferred"),
            figure("branched", "branched off"),
        ],
    )
    tagged = link.bridge.tag_messages
    yield LinkStep("Tag", "with the bridge’s name" if tagged else "off for this bridge")
    yield LinkStep("Send", "to the target", [figure("sent", "sent")])
    yield LinkStep(
        "Commit" if link.transacted else "Acknowledge",
        "both ends at once" if link.transacted else "at the source, once sent",
    )


def figures_of(link: Link, status: LinkStatus) -> Iterator[Figure]:
    """All counts of all steps."""
    for step in steps_of(link, status):
        yield from (*step.figures, *step.exits)
