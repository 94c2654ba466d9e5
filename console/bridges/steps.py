"""The steps of a message through a link, with the number of messages at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, pgettext

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
        gettext("Receive"),
        gettext("in a transaction")
        if link.transacted
        else gettext("one by one, in order"),
        [figure("received", gettext("received"))],
        [
            figure("duplicates", gettext("known already")),
            figure("looped", gettext("came back in a loop")),
        ],
    )
    yield LinkStep(
        gettext("Check expiry"),
        gettext("what has expired is not sent"),
        exits=[figure("expired", gettext("expired"))],
    )
    kept = gettext("reply-to removed")
    if link.retain_reply_to:
        kept = gettext("reply-to kept")
    by = gettext("by a transformer") if link.transformer else gettext("no transformer")
    yield LinkStep(
        gettext("Transform"),
        f"{kept}; {by}",
        [figure("transformed", gettext("transformed"))] if link.transformer else [],
        [
            figure("not_transferred", gettext("not transferred")),
            figure("branched", gettext("branched off")),
        ],
    )
    yield LinkStep(
        pgettext("verb", "Tag"),
        gettext("with the bridge’s name")
        if link.bridge.tag_messages
        else gettext("off for this bridge"),
    )
    yield LinkStep(
        gettext("Send"), gettext("to the target"), [figure("sent", gettext("sent"))]
    )
    if link.transacted:
        yield LinkStep(pgettext("verb", "Commit"), gettext("both ends at once"))
    else:
        yield LinkStep(
            pgettext("message", "Acknowledge"), gettext("at the source, once sent")
        )


def figures_of(link: Link, status: LinkStatus) -> Iterator[Figure]:
    """All counts of all steps."""
    for step in steps_of(link, status):
        yield from (*step.figures, *step.exits)
