"""Hops: the transfer of one message by a bridge link, as recorded at this broker.

Pure: a hop is made from the detail of one journal event, narrowed to one message.
``broker.bridges`` writes the events; reading them does not need that package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_noop

SOURCE, TARGET, DEAD = "source", "target", "dead"  # roles of the message in a transfer

CARRIED = ("TRANSFERRED", "BRANCHED")
# Outcomes after which the message is at the target, or may be there.
IN_DOUBT = ("ACK_FAILURE", "COMMIT_FAILURE")
WHY = {  # explanations of outcomes other than a plain transfer
    "BRANCHED": gettext_noop("its transformer sent it to another destination"),
    "NOT_TRANSFERRED": gettext_noop("its transformer refused it"),
    "DUPLICATE": gettext_noop("it had been carried before"),
    "LOOPED": gettext_noop("it had come over this bridge before"),
    "MESSAGE_EXPIRED": gettext_noop("its time to live was over"),
    "TRANSFORMER_FAILURE": gettext_noop("its transformer failed"),
    "SEND_FAILURE": gettext_noop("the target did not take it"),
    "ACK_FAILURE": gettext_noop(
        "the target has it, and the source did not learn of that"
    ),
    "COMMIT_FAILURE": gettext_noop(
        "the commit failed, and the target may have it or not"
    ),
}
RESUBMIT = gettext_noop(
    "A copy is on the dead message queues of the bridge: fix the cause, then resubmit"
    " it."
)
REMEDIES = {  # what to do, by outcome, about a message that has left its source
    "TRANSFERRED": gettext_noop("Nothing: it is at the target now."),
    "BRANCHED": gettext_noop(
        "Nothing: it is where the transformer of the link sent it."
    ),
    "NOT_TRANSFERRED": gettext_noop(
        "Nothing: the transformer of the link wanted it so."
    ),
    "DUPLICATE": gettext_noop("Nothing: the target has it already."),
    "LOOPED": gettext_noop(
        "Give one of the links a selector, so that they do not send it around."
    ),
    "MESSAGE_EXPIRED": RESUBMIT,
    "TRANSFORMER_FAILURE": RESUBMIT,
    "SEND_FAILURE": RESUBMIT,
    "ACK_FAILURE": gettext_noop(
        "Look at the target: it may get the message a second time."
    ),
    "COMMIT_FAILURE": gettext_noop(
        "Look at the target: it may have the message or not."
    ),
}


@dataclass(frozen=True, slots=True)
class Hop:
    """The transfer of one message by a link."""

    link: str  # names, as "bridge/link"
    role: str
    outcome: str
    other: str = ""  # message id at the other end; empty if there is none
    # Message number at the target, if the target is this broker.
    copy: int | None = None
    latency: timedelta | None = None  # time from the put at the source to the transfer
    is_transformed: bool = False

    @property
    def is_departure(self) -> bool:
        """Whether the message was transferred from a queue of this broker."""
        return self.role == SOURCE

    @property
    def is_carried(self) -> bool:
        return self.outcome in CARRIED

    @property
    def is_in_doubt(self) -> bool:
        """Whether the message is at the target, or may be there, after a failure."""
        return self.outcome in IN_DOUBT

    @property
    def why(self) -> str:
        """The explanation of an outcome that is not a plain transfer; usually empty."""
        return WHY.get(self.outcome, "")

    @property
    def action(self) -> str:
        """The action of the link, as a text; ``other`` and ``why`` follow it."""
        if self.role == DEAD:
            return f"a dead message of link {self.link}"
        if self.role == TARGET:
            return f"came by link {self.link}"
        if self.is_carried:
            return f"carried by link {self.link}"
        done = "taken" if self.is_in_doubt else "taken and not carried"
        return f"{done} by link {self.link}"

    @property
    def direction(self) -> str:
        """The word before ``other``."""
        return "to" if self.is_departure else "from"

    @property
    def remedy(self) -> str:
        if self.copy:
            return f"See message {self.copy}."
        return REMEDIES.get(self.outcome, gettext_noop("Nothing."))

    def __str__(self) -> str:
        other = f" {self.direction} {self.other}" if self.other else ""
        here = f" (message {self.copy} here)" if self.copy else ""
        because = f": {self.why}" if self.why else ""
        return f"{self.action}{other}{here}{because}"


def hop_of(detail: Mapping[str, Any]) -> Hop:
    """The hop that an event describes.

    Args:
        detail: the detail of an event of ``Kind.TRANSFER``, narrowed to one message.
    """
    latency_ms = detail.get("latency_ms")
    return Hop(
        link=str(detail.get("link", "")),
        role=str(detail.get("role", "")),
        outcome=str(detail.get("outcome", "")),
        other=str(detail.get("other") or ""),
        copy=detail.get("copy"),
        latency=None if latency_ms is None else timedelta(milliseconds=latency_ms),
        is_transformed=bool(detail.get("transformed")),
    )
