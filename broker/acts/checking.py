"""``act``: the one way to carry out what a person or a program orders.

The checks, in this order; the first that fails is the answer, and nothing is changed:
the permissions, the limits of fields, the sight of what the request names (an object
that the actor may not see is a missing one), the authorities on queues, the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import astuple, is_dataclass
from typing import Any

from django.db import transaction

from broker.acts.declaring import ACTS, ActField, DeclaredAct
from broker.acts.objects import KINDS, key_of, queues_of
from broker.acts.refusals import note_attempt
from broker.errors import BrokerError
from broker.errors.acts import InvalidRequest, NoPerson
from broker.errors.operations import ReasonMissing
from broker.security import authorities, permissions
from broker.security.authorities import Principal


def act(actor: Principal, request: Any) -> Any:
    """Carry out an act; return its answer.

    Args:
        actor: the user or credential; None is the process itself, which may do all.
        request: of an act in ``ACTS``.

    Raises:
        NoPerson: it needs a user, and the actor is None.
        NotPermitted: a permission is missing.
        InvalidRequest: a field is beyond its limits.
        NoSuchQueue, NoSuchOperation, …: an object is missing, or hidden from the actor.
        NotAuthorized: an authority on a queue is missing.
        ReasonMissing: the act needs a reason, and there is none.
        BrokerError: what the act itself refuses.
    """
    one = ACTS[type(request)]
    try:
        with transaction.atomic():
            check(one, actor, request)
            if one.needs_reason and not request.reason.strip():
                raise ReasonMissing("This")
            return one.run(actor, request)
    except BrokerError as error:
        note_attempt(error, one, request)
        raise


def require(actor: Principal, request: Any) -> None:
    """Refuse what ``act`` would refuse now, before the act itself looks; for those who
    ask before they order, and before they give a reason.

    Raises:
        BrokerError: as ``act``.
    """
    one = ACTS[type(request)]
    try:
        check(one, actor, request)
    except BrokerError as error:
        note_attempt(error, one, request)
        raise


def may(actor: Principal, request: Any) -> str | None:
    """Why an actor may not order this now; None if it may. See ``require``."""
    try:
        require(actor, request)
    except BrokerError as error:
        return str(error)
    return None


def check(one: DeclaredAct, actor: Principal, request: Any) -> None:
    """Refuse what the declaration does not allow."""
    if one.needs_person and actor is None:
        raise NoPerson
    for permission in one.permissions:
        permissions.require(actor, permission)
    if faults := list(find_faults(one.fields, request)):
        raise InvalidRequest(tuple(faults))
    held = authorities.held_by(actor)
    for field in one.fields:
        value = getattr(request, field.name)
        if not field.holds.names or value is None:
            continue
        found = KINDS[field.holds.names](actor, held, *key_of(field, request))
        if rule := one.rules.get(field.name):
            rule.require(actor, found)
        if authority := one.authorities.get(field.name):
            authorities.require_on_all(actor, authority, *queues_of(found))


def find_faults(fields: Iterable[ActField], request: Any) -> Iterator[tuple[str, str]]:
    """The fields that are beyond their limits, with a sentence of each."""
    for field in fields:
        value = getattr(request, field.name)
        if value is not None and (why := find_fault(field, value)):
            yield field.name, why


def find_fault(field: ActField, value: Any) -> str:
    texts = value if isinstance(value, tuple) else (value,)
    if isinstance(value, dict):
        texts = (*value, *value.values())
    elif is_dataclass(value) and not isinstance(value, type):
        texts = astuple(value)
    # A value of type Any is not always stored as text, so it may have NUL.
    is_text = field.type is not Any
    if is_text and any(isinstance(text, str) and "\0" in text for text in texts):
        return "It contains a NUL character, which cannot be stored."
    size, unit = value, ""
    if isinstance(value, Sized):
        size = len(value)
        unit = " characters" if isinstance(value, str) else " values"
    least, most = field.holds.least, field.holds.most
    if least is not None and size < least:
        return f"It must be {least:,}{unit} or more."
    if most is not None and size > most:
        return f"It must be {most:,}{unit} or less."
    return ""
