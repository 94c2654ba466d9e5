"""Marks to skip a backout: when one is possible, and a warning when a program drops the
unit of work that it must end."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings

from broker.errors.units_of_work import MarkNotPossible, SecondMark

if TYPE_CHECKING:
    from broker.transactions.unit_of_work import UnitOfWork

logger = logging.getLogger(__name__)

SWITCHED_OFF = "the broker has it switched off (BROKER_SKIP_BACKOUT)"
COORDINATED = "this unit of work ends by the decision of another coordinator"
DROPPED = (
    "Unit of work %s, which holds a message that skipped a backout, was dropped and not"
    " ended: nobody gets the message until the deadline of the unit of work. Commit it,"
    " or back it out."
)
Work = TypeVar("Work")


def check_mark(work: UnitOfWork) -> None:
    """Refuse a mark that is not possible.

    Raises:
        SecondMark: an entry is marked already.
        MarkNotPossible: it is switched off, or there is another coordinator.
    """
    if not settings.BROKER_SKIP_BACKOUT:
        raise MarkNotPossible(SWITCHED_OFF)
    if work.coordinated:
        raise MarkNotPossible(COORDINATED)
    if work.marked:
        raise SecondMark(work.id)


def watched(work: Work) -> Work:
    """The same unit of work. If it is dropped before it has ended, that is logged.

    Its attributes outlive it here, so that they say whether it had ended.
    """
    weakref.finalize(work, warn, vars(work))
    return work


def warn(attributes: Mapping[str, Any]) -> None:
    if not attributes["ended"]:
        logger.warning(DROPPED, attributes["id"])
