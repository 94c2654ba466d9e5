"""The act on the discard bin: restore messages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason, declared, name_in_journal
from broker.errors.acts import InvalidRequest
from broker.errors.discards import NotInDiscardBin
from broker.models import Act
from broker.monitoring.dead_letters import NEWEST
from broker.security import authorities
from broker.security.authorities import Principal
from broker.settlement import discards
from broker.settlement.discards import Binned, Restored

AT_ONCE = 500  # most entries that one request restores
EITHER = "Give either messages or the fingerprint of a group."


@dataclass(frozen=True, slots=True)
class RestoreMessages:
    """The messages, or the group of dead letters that they were; and why."""

    messages: Annotated[
        tuple[int, ...],
        Holds(gettext_noop("The numbers of messages."), most=AT_ONCE, is_argument=True),
    ] = ()
    fingerprint: Annotated[
        str | None,
        Holds(
            gettext_noop(
                "Instead of messages: a group of dead letters, of which the newest"
                " 500 are taken."
            ),
            most=12,
        ),
    ] = None
    queue: Annotated[
        str | None,
        Holds(
            gettext_noop("Only those that were discarded from this queue."), most=255
        ),
    ] = None
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class RestoredMessage:
    """What came of one message."""

    message_id: int
    code: str  # code of the error; empty: the message is back on its queue
    detail: str  # the error, for people


@dataclass(frozen=True, slots=True)
class RestoredMessages:
    """What came of each message, by queue and message."""

    restored: int
    messages: list[RestoredMessage]

    @property
    def changed(self) -> bool:
        return self.restored > 0

    def __str__(self) -> str:
        said = [
            f"{self.restored:,} of {len(self.messages):,} are back on their queues."
        ]
        return "\n".join(said + [one.detail for one in self.messages if one.detail])


@declared(
    permission="broker.resubmit_message", recorded_as=Act.RESTORE, is_confirmed=True
)
def restore_messages(actor: Principal, request: RestoreMessages) -> RestoredMessages:
    """Restore discarded messages.

    Each goes back as the same message, at the head of its queue, with all its delivery
    attempts anew; it takes the authority `put` on the queue. Those that cannot be
    restored stay in the bin, and the answer says why.
    """
    if bool(request.messages) == bool(request.fingerprint):
        raise InvalidRequest((("messages", EITHER),))
    found = find_discarded(
        actor, request.messages, request.fingerprint, queue=request.queue
    )
    entries = [(one.message_id, one.queue_id) for one in found]
    outcomes = discards.restore_each(
        entries,
        user=actor,
        actor=name_in_journal(actor),
        why=request.reason.strip(),
    )
    missing = sorted(set(request.messages) - {one for one, _ in entries})
    outcomes += [Restored(one, 0, NotInDiscardBin(one)) for one in missing]
    return RestoredMessages(
        sum(one.error is None for one in outcomes), [result_of(one) for one in outcomes]
    )


def find_discarded(
    actor: Principal,
    messages: Collection[int],
    fingerprint: str | None = None,
    *,
    queue: str | None = None,
) -> list[Binned]:
    """The entries of these messages, or of a group of dead letters, that the actor may
    see; at most as many as are restored at once, the newest first."""
    return discards.discarded(
        queue=queue,
        within=discards.visible_queues(authorities.held_by(actor)),
        message_ids=[one for one in messages if 0 < one <= NEWEST] or None,
        fingerprint=fingerprint,
        limit=AT_ONCE,
    )


def result_of(one: Restored) -> RestoredMessage:
    code, detail = (one.error.code, str(one.error)) if one.error else ("", "")
    return RestoredMessage(one.message_id, code, detail)
