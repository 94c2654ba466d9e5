"""When a task that failed is run again, where the task says so itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from broker.errors.units_of_work import RedeliverIn, Reject
from broker.formats.exceptions import is_a
from broker.settlement.outcomes import describe
from broker.settlement.redelivery_policy import redelivery_delay

NAME = "__redelivery__"  # attribute of a task's function with its policy
MS = 1000
Decorated = TypeVar("Decorated")


@dataclass(frozen=True, slots=True)
class TaskPolicy:
    """The settings of redelivery of one task (``RedeliverySettings``)."""

    max_delivery_attempts: int | None
    redelivery_delay_ms: int | None
    redelivery_delay_multiplier: float | None
    redelivery_collision_avoidance_factor: float | None
    max_redelivery_delay_ms: int | None
    never: tuple[type[BaseException], ...]
    dead_letter_address: str | None = None

    def raise_for(self, error: BaseException, attempts: int) -> None:
        """Raise what a handler raises for this outcome.

        Args:
            error: the error of the task.
            attempts: its failed deliveries, this one included; from 1.

        Raises:
            Reject: it is not run again.
            RedeliverIn: it is run again after a delay.
        """
        limit = self.max_delivery_attempts or 0
        if is_a(error, self.never) or 0 < limit <= attempts:
            raise Reject(describe(error)) from error
        spread = random.uniform(-1, 1)  # noqa: S311
        raise RedeliverIn(redelivery_delay(self, attempts, spread)) from error


def redelivery(
    *,
    delay: float = 0,
    multiplier: float = 1,
    spread: float = 0,
    max_delay: float | None = None,
    max_attempts: int | None = None,
    never: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> Callable[[Decorated], Decorated]:
    """Say when a task that failed is run again, in place of its queue's settings::

        @redelivery(delay=5, multiplier=2, max_attempts=8, never=CardDeclined)
        @task
        def charge(order_id: int) -> None: ...

    The delays are those of ``redelivery_policy``. A worker that dies counts by the
    settings of the queue, and their limit of attempts holds for all tasks.

    Args:
        delay: seconds before the second attempt.
        multiplier: each further delay is this many times the last.
        spread: part of the delay that is random, from 0 to 1.
        max_delay: the longest delay in seconds; by default ten times the first.
        max_attempts: attempts after which it is a dead letter; None: as its queue says.
        never: errors after which it is not run again.
    """
    most = None if max_delay is None else round(max_delay * MS)
    errors = never if isinstance(never, tuple) else (never,)
    policy = TaskPolicy(
        max_attempts, round(delay * MS), multiplier, spread, most, errors
    )

    def decorate(what: Decorated) -> Decorated:
        setattr(getattr(what, "func", what), NAME, policy)
        return what

    return decorate


def policy_of(function: Callable[..., Any]) -> TaskPolicy | None:
    """The policy that a task declares; None: the settings of its queue decide."""
    found: TaskPolicy | None = getattr(function, NAME, None)
    return found
