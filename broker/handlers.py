"""Plug-in point: which function consumes which queue in a dispatcher.

An installed application registers its handlers in its module ``handlers``. A handler
returns to accept, and raises to back out. It may run again for the same message: after
a backout always, after a crash when it was not joined to its database transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from broker.get import Delivery
from broker.unit_of_work import UnitOfWork

Handle = Callable[[Delivery, UnitOfWork], None]


@dataclass(frozen=True, slots=True)
class Handler:
    """One queue's function, and how it is run."""

    queue: str
    handle: Handle
    join: bool  # with the database transaction of its own rows; or leased
    batch: int  # deliveries of one unit of work
    concurrency: int  # threads, of each dispatcher

    @property
    def name(self) -> str:
        return f"{self.handle.__module__}.{self.handle.__qualname__}"


HANDLERS: dict[str, Handler] = {}


def consumes(
    queue: str, *, join: bool = True, batch: int = 1, concurrency: int = 1
) -> Callable[[Handle], Handle]:
    """Register a function for a queue; each has one.

    Args:
        queue: its name; it need not exist yet.
        join: run inside a database transaction that also settles the message. Give
            False where the work is long or not about the database.
        batch: deliveries that share a unit of work, and so each other's fate.
        concurrency: threads that run the function at once.
    """

    def register(handle: Handle) -> Handle:
        if queue in HANDLERS:
            raise ImproperlyConfigured(f"{queue} has a handler already")
        HANDLERS[queue] = Handler(queue, handle, join, batch, concurrency)
        return handle

    return register


def discover() -> dict[str, Handler]:
    """The handlers of all installed applications, by queue."""
    autodiscover_modules("handlers")
    return HANDLERS
