"""Plug-in point: which function consumes which queue in a dispatcher.

An installed application registers its handlers in its module ``handlers``. A handler
returns to accept, and raises to back out. It may run again for the same message: after
a backout always, after a crash when it was not joined to its database transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from broker.client.dispatch import limits
from broker.errors.queues import NotAuthorized
from broker.formats.selectors.parsing import parse
from broker.queueing.get import Delivery
from broker.transactions.scope import UnitOfWork

Handle = Callable[[Delivery, UnitOfWork], None]


@dataclass(frozen=True, slots=True)
class Handler:
    """A function for messages of a queue, and the options of running it."""

    queue: str
    handle: Handle
    join: bool  # run in a database transaction; False: run under a lease
    batch: int  # most deliveries of one unit of work
    concurrency: int  # server sessions in each dispatcher
    selector: str = ""  # selector of wanted messages; empty: all messages are wanted
    retain_unwanted: bool = True  # keep unwanted messages (MSGRETENTION)
    user: str | None = None  # user whose authorities apply; None: the application
    # The next two are limits for all processes together.
    max_running: int | None = None
    rate: str = ""

    @property
    def name(self) -> str:
        """The path of the handler's function; for a callable object, the path of its
        class."""
        of: Any = self.handle
        if not (hasattr(of, "__module__") and hasattr(of, "__qualname__")):
            of = type(of)
        return f"{of.__module__}.{of.__qualname__}"

    def principal(self) -> Any:
        """The user whose authorities apply; None is the application itself.

        Raises:
            NotAuthorized: there is no user of that name.
        """
        if self.user is None:
            return None
        users = get_user_model()._default_manager
        try:
            return users.get_by_natural_key(self.user)
        except get_user_model().DoesNotExist:
            raise NotAuthorized(self.user, "get", self.queue) from None


HANDLERS: dict[tuple[str, str], Handler] = {}  # handlers by queue and selector


def consumes(  # noqa: PLR0913  # each is named where it is used
    queue: str,
    *,
    join: bool = True,
    batch: int = 1,
    concurrency: int = 1,
    selector: str = "",
    retain_unwanted: bool = True,
    user: str | None = None,
    max_running: int | None = None,
    rate: str = "",
) -> Callable[[Handle], Handle]:
    """Register a function for a queue; each has one, or one for each selector.

    Args:
        queue: its name, or an alias; it need not exist yet.
        join: run inside a database transaction that also accepts the message. Give
            False where the work is long or not about the database. In both cases the
            message is claimed before, and the function must return within
            ``BROKER_TRANSACTION_TIMEOUT_S``; after that the message is backed out.
        batch: deliveries in one unit of work, which succeed or fail together.
        concurrency: server sessions: threads that run the function at once.
        selector: the selector of its messages; others are for other handlers.
        retain_unwanted: keep messages on the queue that no handler's selector matches,
            in any process; False disposes of them (MSGRETENTION).
        user: the name of the user whose authorities apply; by default the application,
            which has all.
        max_running: most units of work of the function at once, in all processes.
        rate: most messages in a time, in all processes, as 100/min; of a second (s),
            minute (min), hour (h) or day (d). They are spaced evenly.

    Raises:
        InvalidSelector: the selector cannot be parsed.
        ImproperlyConfigured: a limit cannot be read.
    """

    def register(handle: Handle) -> Handle:
        if (queue, selector) in HANDLERS:
            which = f" for {selector}" if selector else ""
            raise ImproperlyConfigured(f"{queue} has a handler{which} already")
        if selector:
            parse(selector)
        limits.check(max_running, rate)
        HANDLERS[queue, selector] = Handler(
            queue,
            handle,
            join,
            batch,
            concurrency,
            selector,
            retain_unwanted,
            user,
            max_running,
            rate,
        )
        return handle

    return register


def discover() -> Collection[Handler]:
    """The handlers of all installed applications."""
    autodiscover_modules("handlers")
    return HANDLERS.values()
