"""One message, edited: which copy is meant, and sending the edited copy."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from broker import operations
from broker.acts.operations.rights import require_ways
from broker.bridges import resubmit
from broker.errors.operations import NothingChosen
from broker.errors.patches import InvalidPatch, NotRepaired
from broker.formats import patches
from broker.formats.patches import Patch, Repair, Subject, Unfit
from broker.formats.patches.documents import Whole
from broker.formats.patches.headers import PROPERTY
from broker.models import Link
from broker.models.bridge_names import LINK_PROPERTY
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import public_number
from broker.operations import Edit, Outcome
from broker.security import authorities, redaction
from broker.security.users import User
from console.messages import link_letters as letters
from console.messages.dead_letter_query import names_for
from console.messages.detail import Now, Story, story_of
from console.messages.rights import require_for

# states in which a message can be taken from its queue
WAITS = ("dead", "ready", "delayed", "redelivery")
TWICE = "the body is given whole, so the patch cannot change it as well"


@dataclass(frozen=True, slots=True)
class Editable:
    """A copy of a message that waits on a queue, as an edit sees it."""

    message_id: int
    queue: str
    subject: Subject
    through: Link | None  # the link that could not carry it, and gets the edited copy

    def repair(self, patch: Patch | None, body: bytes | None) -> Repair:
        """The changes that a patch, or a whole new body, makes.

        Raises:
            InvalidPatch: both change the body.
            NotRepaired: they cannot be made; the reason is told.
        """
        headers, changes = ((), None) if patch is None else (patch.headers, patch.body)
        if body is not None and changes is not None:
            raise InvalidPatch(TWICE, "body")
        whole = None if body is None else Whole(body)
        try:
            return patches.apply(Patch(headers, whole or changes), self.subject)
        except Unfit as unfit:
            why = Outcome(unfit.misfit.value).sentence
            raise NotRepaired(public_number(self.message_id), why) from unfit


@dataclass(frozen=True, slots=True)
class SentCopy:
    """An edited copy."""

    operation_id: int
    message_id: int  # id of the copy


def editable(
    user: User | AnonymousUser, message_id: int, queue: str = ""
) -> Editable | None:
    """The copy that an id means; None if there is no such message.

    Args:
        user: who may browse it, and is no one for whom it is masked.
        message_id: the id of the copy, or of another copy of its message.
        queue: the queue that it is on; empty: the first one.

    Raises:
        NotAuthorized: the user may not see or read it.
        NothingChosen: it waits on no queue, or a consumer holds it.
        MaskedMessage: part of it is masked for this user.
    """
    story = story_of(message_id) if 0 < message_id <= NEWEST else None
    if story is None:
        return None
    require_for(user, "browse", story)
    for one in operations.present((message_id,), names_for(user)):
        found = story if one == message_id else story_of(one)
        here = None if found is None else place_of(found, queue)
        subject = operations.subjects_of([one]).get(one)
        if here is None or subject is None:
            continue
        authorities.require(user, "browse", here.road.queue)
        redaction.require_clear(user, [one])
        through = link_through(user, here, subject)
        return Editable(one, here.road.queue, subject, through)
    raise NothingChosen(f"message {public_number(message_id)}")


def place_of(story: Story, queue: str) -> Now | None:
    """The place of the message: on the named queue, or on the first one."""
    places = [
        now for now in story.here if now.place and now.state in WAITS and now.road.queue
    ]
    named = [now for now in places if now.road.queue == queue]
    return next(iter(named if queue else places), None)


def link_through(
    user: User | AnonymousUser, here: Now, subject: Subject
) -> Link | None:
    """The link that could not carry the message, if it is a dead message of one."""
    named = subject.headers.get(f"{PROPERTY}{LINK_PROPERTY}")
    return letters.link_for(user, here.letter, named)


@transaction.atomic
def send(  # each is named where it is used
    user: User | AnonymousUser,
    message_id: int,
    queue: str,
    edit: Edit,
    *,
    reason: str,
    through: Link | None,
) -> SentCopy:
    """Send the edited copy, or nothing.

    Args:
        user: who edited it.
        message_id: the id of the copy.
        queue: the queue that it is on.
        edit: the changes.
        reason: text for the audit.
        through: the link to send it through, instead of back to its queue.

    Raises:
        NotAuthorized: an authority is missing at the source or the target.
        NotRepaired, NothingChosen, NotResubmittable, NoSuchQueue: it is not sent.
    """
    to = resubmit.ensure(through).name if through else ""
    plan = operations.plan_edit(user, message_id, queue, edit, reason=reason, to=to)
    require_ways(user, plan)
    return SentCopy(plan.pk, operations.start_edit(plan.pk))
