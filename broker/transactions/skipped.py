"""A warning when a program drops a unit of work that it must end."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

DROPPED = (
    "Unit of work %s, which holds a message that skipped a backout, was dropped and not"
    " ended: nobody gets the message until the deadline of the unit of work. Commit it,"
    " or back it out."
)
Work = TypeVar("Work")


def watched(work: Work) -> Work:
    """The same unit of work. If it is dropped before it has ended, that is logged.

    Its attributes outlive it here, so that they say whether it had ended.
    """
    weakref.finalize(work, warn, vars(work))
    return work


def warn(attributes: Mapping[str, Any]) -> None:
    if not attributes["ended"]:
        logger.warning(DROPPED, attributes["id"])
