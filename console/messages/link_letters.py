"""Dead messages of links: in groups for one link, and the facts of one message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from broker.bridges.providers.registry import HERE
from broker.bridges.resubmit import selection_of, sharing
from broker.models import BridgeDestination, DeadLetter, Link
from broker.sql import database_now
from console.messages import dead_letter_groups
from console.messages.dead_letter_query import fields_of, matches
from console.messages.properties import PREFIX, moment_of
from dashboards.live import attention

MOST = 10  # groups on the page of a link
Cause = DeadLetter.Cause
KINDS: Mapping[str, str] = {
    BridgeDestination.Kind.QUEUE: gettext_noop("queue %(name)s"),
    BridgeDestination.Kind.TOPIC: gettext_noop("topic %(name)s"),
}

REASONS: Mapping[str, tuple[str, str]] = {  # the error, and the recommended action
    "MESSAGE_EXPIRED": (
        gettext_noop("It had expired when the link received it, so it was not sent."),
        gettext_noop(
            "If it is no longer needed, remove it. Otherwise resubmit it through the"
            " link."
        ),
    ),
    "TRANSFORMER_FAILURE": (
        gettext_noop("The link’s transformer failed on it."),
        gettext_noop(
            "Fix the transformer or the message, then resubmit it through the link."
        ),
    ),
    "SEND_FAILURE": (
        gettext_noop("Its target did not accept it."),
        gettext_noop(
            "Fix what the target reports, or edit the message; then resubmit it through"
            " the link."
        ),
    ),
    "ACK_FAILURE": (
        gettext_noop(
            "It was sent, but could not be acknowledged at its source: the target has"
            " it, and may get it again."
        ),
        gettext_noop(
            "Look at the target. If it is there, remove this one: it is a notice."
        ),
    ),
    "COMMIT_FAILURE": (
        gettext_noop(
            "Nobody knows whether it was committed: the target may have it or not."
        ),
        gettext_noop(
            "Look at the source and the target first. If it is at neither, resubmit it."
        ),
    ),
    "FIRST_TRANSFORMER_NOTRANSFER": (
        gettext_noop(
            "The link’s transformer decided not to send it. It was the first such"
            " message since the link started; later ones are not kept."
        ),
        gettext_noop(
            "Nothing failed: it is a notice. Remove it when you have read it."
        ),
    ),
    "FIRST_TRANSFORMER_BRANCHTO": (
        gettext_noop(
            "The link’s transformer sent it to another destination. It was the first"
            " such message since the link started; later ones are not kept."
        ),
        gettext_noop(
            "Nothing failed: it is a notice. Remove it when you have read it."
        ),
    ),
}
REASONS = {**REASONS, "TRANSFORM_FAILURE": REASONS["TRANSFORMER_FAILURE"]}
UNSAID = (
    gettext_noop("A link of a bridge could not carry it."),
    gettext_noop("Fix what the error says, then resubmit it through the link."),
)


@dataclass(frozen=True, slots=True)
class Dead:
    """Dead messages of one link in groups of one cause, the largest first."""

    rows: Sequence[dead_letter_groups.DeadLetterGroupRow]
    messages: int
    as_of: datetime
    fields: dict[str, object]  # the query that lists only these dead letters
    # other links from the same queue; some of the messages may be theirs
    sharing: Sequence[str]

    @property
    def first_rows(self) -> Sequence[dead_letter_groups.DeadLetterGroupRow]:
        return self.rows[:MOST]

    @property
    def others(self) -> int:
        return max(len(self.rows) - MOST, 0)

    @property
    def query(self) -> str:
        return urlencode(self.fields)


@dataclass(frozen=True, slots=True)
class Carried:
    """The facts in a dead message about the link that could not transfer it."""

    link: Link | None  # the link, if it exists and the user may see it
    reason: str  # the reason in Open MQ's words
    says: str
    what_to_do: str
    exception: str
    facts: Sequence[tuple[str, str]]
    sent_at: datetime | None  # when the message was sent to the source
    is_cut: bool  # whether the body was cut


def dead_of(link: Link, names: Mapping[int, str]) -> Dead | None:
    """The dead messages of a link in groups. Eight queries at most."""
    selection = selection_of(link, names)
    if selection is None:
        return None
    seen = attention.newest()
    every = [group for group in seen.every if group.queue_id in names]
    chosen = [group for group in every if matches(group, selection)]
    return Dead(
        dead_letter_groups.rows_of(
            chosen, every, names, seen.trends(names), database_now()
        ),
        sum(group.messages for group in chosen),
        seen.at,
        fields_of(replace(selection, within=None)),
        sharing(link),
    )


def carried(letter: DeadLetter, told: Mapping[str, str], link: Link | None) -> Carried:
    """The facts in a dead message about its link.

    Args:
        letter: the stored dead letter.
        told: its properties that the user may read.
        link: the link, if the user may see it.
    """
    reason = told.get(f"{PREFIX}DMQ_REASON", "")
    says, what_to_do = REASONS.get(reason, UNSAID)
    return Carried(
        link,
        reason,
        gettext(says),
        gettext(what_to_do),
        told.get(f"{PREFIX}DMQ_EXCEPTION", "") or letter.error,
        list(facts_of(told, here_of(link))),
        moment_of(told.get(f"{PREFIX}SOURCE_TIMESTAMP", "")),
        told.get(f"{PREFIX}DMQ_BODY_TRUNCATED", "").lower() == "true",
    )


def here_of(link: Link | None) -> set[str]:
    """Names of the link's connection factories that connect to this broker."""
    if link is None:
        return set()
    both = (link.source_factory, link.target_factory)
    return {one.name for one in both if one.provider == HERE}


def facts_of(told: Mapping[str, str], here: set[str]) -> Iterator[tuple[str, str]]:
    """The facts about both ends, as names and values.

    Args:
        told: the properties.
        here: connection factories that connect to this broker.
    """

    def at(name: str) -> str:
        return told.get(f"{PREFIX}{name}", "")

    def place(destination: str, factory: str) -> str:
        kind, colon, name = destination.partition(":")
        words = KINDS.get(kind) if colon else None
        words = gettext(words) % {"name": name} if words else destination
        where = gettext("at %(factory)s") % {"factory": factory} if factory else ""
        where = gettext("here") if factory in here else where
        return " ".join(one for one in (words, where) if one)

    target = at("TARGET_CURRENT_DESTINATION") or at("TARGET_DESTINATION")
    pairs = (
        (gettext("Source"), place(at("SOURCE_DESTINATION"), at("SOURCE_PROVIDER"))),
        (gettext("JMSMessageID at the source"), at("SOURCE_MESSAGEID")),
        ("JMSCorrelationID", at("SOURCE_CORRELATIONID")),
        ("JMSType", at("SOURCE_JMSTYPE")),
        (gettext("Target"), place(target, at("TARGET_PROVIDER"))),
    )
    for name, value in pairs:
        if value:
            yield name, value
