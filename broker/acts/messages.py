"""Acts on single messages: send an edited copy of one."""

from __future__ import annotations

import base64
import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.utils import timezone
from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import Holds, Reason, Rule, declared
from broker.acts.objects import FoundMessage
from broker.acts.operations.rights import require_ways
from broker.bridges import resubmit
from broker.errors.acts import InvalidRequest
from broker.errors.operations import NothingChosen
from broker.errors.patches import InvalidPatch, NotRepaired
from broker.formats import patches
from broker.formats.patches import HeaderOperation, Patch, Repair, Subject, Unfit
from broker.formats.patches.documents import Whole
from broker.formats.patches.headers import PROPERTY
from broker.models import Act, DeadLetter, Link, Place, Queue
from broker.models.bridge_names import LINK_PROPERTY
from broker.monitoring.numbers import copies_of, public_number
from broker.monitoring.visible_groups import queues_for
from broker.operations import Edit, Outcome
from broker.queueing.browse import where_is
from broker.security import authorities, redaction
from broker.security.authorities import Principal
from broker.security.permissions import CHANGE

BROWSE = "broker.browse_queue"
NOTHING = "Give a body, a patch, or both."
TWICE = "the body is given whole, so the patch cannot change it as well"


def require_reading(actor: Principal, message: FoundMessage) -> None:
    """Refuse an actor that may read the message on none of its queues.

    Raises:
        NotAuthorized: ``browse`` is missing.
    """
    held = authorities.held_by(actor)
    if not any(held.on("browse", one) for one in message.queues):
        known = [one for one in message.queues if held.on("inquire", one)]
        raise authorities.refusal(actor, "browse", min(known))


READ = Rule("`browse` on a queue that it is or was on", require_reading)


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A copy of a message that waits on a queue."""

    message_id: int
    queue: str
    letter: DeadLetter | None
    subject: Subject
    # The link that could not transfer the message, and that will transfer the edited
    # copy.
    through: Link | None


def find_waiting(actor: Principal, message_id: int, queue: str = "") -> WaitingMessage:
    """The copy that an id means.

    Args:
        actor: who edits it.
        message_id: the id of the copy, or of another copy of its message.
        queue: the queue that it is on; empty: the first one.

    Raises:
        NotAuthorized: the actor may not read it there.
        NothingChosen: it waits on no queue, or a consumer holds it.
        MaskedMessage: part of it is masked for this actor.
    """
    for one in meant_by(message_id, queues_for(authorities.held_by(actor))):
        here = place_of(one, queue)
        subject = operations.subjects_of([one]).get(one)
        if here is None or subject is None:
            continue
        authorities.require(actor, "browse", here.name)
        redaction.require_clear(actor, [one])
        letter = DeadLetter.objects.filter(message_id=one, queue_id=here.pk).first()
        named = subject.headers.get(f"{PROPERTY}{LINK_PROPERTY}")
        through = resubmit.link_for(actor, letter, named)
        return WaitingMessage(one, here.name, letter, subject, through)
    raise NothingChosen(f"message {public_number(message_id)}")


def meant_by(message_id: int, names: Container[int]) -> list[int]:
    """The copies that an id means: its own if that is on one of the queues, otherwise
    those copies of its message that are."""

    def is_there(copy: int) -> bool:
        return any(one.queue_id in names for one in where_is(copy))

    if is_there(message_id):
        return [message_id]
    (copies,) = copies_of((message_id,)).values()
    return list(filter(is_there, sorted(copies))) or [message_id]


def place_of(message_id: int, queue: str) -> Queue | None:
    """The queue from which a copy can be taken: the named one, or the first."""
    now = timezone.now()
    ids = [
        one.queue_id
        for one in where_is(message_id)
        if one.place != Place.CLAIMED
        and (one.expires_at is None or one.expires_at > now)
    ]
    found = Queue.objects.in_bulk(ids)
    places = [found[pk] for pk in ids if pk in found]
    return next((one for one in places if queue in ("", one.name)), None)


@dataclass(frozen=True, slots=True)
class EditMessage:
    """The changes: a whole new body, a patch, or a new body and a patch of headers."""

    message: Annotated[
        int,
        Holds(
            gettext_noop("The number of the message, or of a copy."), names="message"
        ),
    ]
    queue: Annotated[
        str,
        Holds(
            gettext_noop("Where it is; without it, the first queue that it waits on."),
            most=255,
        ),
    ] = ""
    body: Annotated[
        Any,
        Holds(
            gettext_noop(
                "The new body. If it is left out, the body stays as it is, or as the"
                " patch changes it."
            ),
            is_file=True,
        ),
    ] = None
    encoding: Annotated[
        Literal["text", "base64", "json"],
        Holds(gettext_noop("How the body is written.")),
    ] = "text"
    patch: Annotated[
        str | None,
        Holds(gettext_noop("The same as for a plan."), is_file=True, is_json=True),
    ] = None
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class EditedCopy:
    """The copy that was sent. Its original is an ended message."""

    message_id: int  # the id of the copy
    number: int  # the number that pages show, which all copies of the message share
    operation_id: int  # the operation that sent the copy; it can be undone
    copied_from: int

    def __str__(self) -> str:
        return (
            f"Message {self.copied_from} was repaired; its copy is {self.message_id}."
        )


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """What an order would change."""

    on: WaitingMessage
    headers: Sequence[HeaderOperation]
    repair: Repair


def plan_edit(actor: Principal, request: EditMessage) -> PlannedEdit:
    """What an order would change; nothing is sent.

    Raises:
        InvalidRequest: nothing is ordered, or the body is not written as it says.
        InvalidPatch: the patch is invalid, or changes a body that is given whole.
        NotRepaired: the changes cannot be made; the reason is told.
        NothingChosen, …: see ``find_waiting``.
    """
    if request.body is None and request.patch is None:
        raise InvalidRequest((("", NOTHING),))
    patch = Patch() if request.patch is None else patches.parse(request.patch)
    found = find_waiting(actor, request.message, request.queue)
    if request.body is not None:
        if patch.body is not None:
            raise InvalidPatch(TWICE, "body")
        patch = Patch(patch.headers, Whole(new_body(request, found.subject)))
    try:
        repair = patches.apply(patch, found.subject)
    except Unfit as unfit:
        why = Outcome(unfit.misfit.value).sentence
        raise NotRepaired(public_number(found.message_id), why) from unfit
    return PlannedEdit(found, patch.headers, repair)


def new_body(request: EditMessage, subject: Subject) -> bytes:
    """The body as bytes; a text in the character set of the body that it replaces."""
    if request.encoding == "json":
        text = json.dumps(request.body, ensure_ascii=False, separators=(",", ":"))
    elif isinstance(request.body, str):
        text = request.body
    else:
        raise wrong("It must be a text, or its encoding “json”.")
    what = "It is not written in base64"
    try:
        if request.encoding == "base64":
            return base64.b64decode(text, validate=True)
        what = "It cannot be written as the message is"
        return subject.written(text)
    except ValueError as error:
        raise wrong(f"{what}: {error}.") from None


def wrong(why: str) -> InvalidRequest:
    return InvalidRequest((("body", why),))


@declared(
    permission=CHANGE,
    also=(BROWSE,),
    recorded_as=Act.PLAN,
    rules={"message": READ},
    needs_person=True,
    is_confirmed=True,
)
def edit_message(actor: Principal, request: EditMessage) -> EditedCopy:
    """Send an edited copy of a message.

    That of a dead letter goes to the queue where the letter died, or through its link;
    that of a waiting message replaces it on its queue. What is not changed is sent byte
    for byte. Needs the authorities of a resubmit or a move, too.
    """
    edit = plan_edit(actor, request)
    on, through = edit.on, edit.on.through
    plan = operations.plan_edit(
        actor,
        on.message_id,
        on.queue,
        Edit(edit.headers, edit.repair.body),
        reason=request.reason.strip(),
        to=resubmit.ensure(through).name if through else "",
    )
    require_ways(actor, plan)
    copy = operations.start_edit(plan.pk)
    return EditedCopy(copy, public_number(copy), plan.pk, on.message_id)
