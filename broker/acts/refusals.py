"""Refused attempts at acts, for the audit.

A refusal rolls the act back, and a record written before that would be gone. So ``act``
notes on the error what was attempted, and each door calls ``record_refusal`` when its
own transaction is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.acts.objects import key_of, name_subject
from broker.errors import BrokerError
from broker.models import Act
from broker.security import audit
from broker.security.audit.records import NOTHING, Thing

if TYPE_CHECKING:
    from broker.acts.declaring import DeclaredAct

NOTED = "attempt"  # attribute of an error: the refused attempt


class Attempt(NamedTuple):
    """The act that was refused, and its object."""

    act: Act
    on: Thing


def note_attempt(error: BrokerError, one: DeclaredAct, request: Any) -> None:
    named = (
        (field.holds.names, key_of(field, request))
        for field in one.fields
        if field.holds.names
    )
    about = (name_subject(kind, *key) for kind, key in named if key[-1] is not None)
    on = next(about, NOTHING)
    setattr(error, NOTED, Attempt(one.recorded_as, on))


def record_refusal(error: BaseException, detail: Mapping[str, Any]) -> bool:
    """Record the refusal of an act; return whether the error is one.

    Args:
        error: what the door answers.
        detail: where it was ordered, as the path of a page.
    """
    attempt: Attempt | None = getattr(error, NOTED, None)
    if attempt is None:
        return False
    audit.refuse(attempt.act, attempt.on, reason=str(error), detail=detail)
    return True
