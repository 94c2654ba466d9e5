"""Plug-in point: which function consumes which queue in a dispatcher.

An installed application registers its handlers in its module ``handlers``. A handler
returns to accept, and raises to back out. It may run again for the same message: after
a backout always, after a crash when it was not joined to its database transaction.

A handler that is a coroutine function (``async def``) runs as tasks of one event loop
in each dispatcher (``async_session``), other handlers in threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from broker.client.dispatch import limits
from broker.errors.queues import NotAuthorized
from broker.formats.selectors.parsing import parse
from broker.queueing.get import Delivery
from broker.transactions.scope import UnitOfWork

Handle = Callable[[Delivery, UnitOfWork], None]
AsyncHandle = Callable[[Delivery, UnitOfWork], Coroutine[Any, Any, None]]
Given = TypeVar("Given", bound=Handle | AsyncHandle)
JOINED = (
    "{} is an async def and handles {} in a database transaction, but Django's"
    " transactions belong to a thread. Give join=False, and write rows by Django's"
    " asynchronous methods, or in a function that is called by sync_to_async and has"
    " transaction.atomic()."
)
BATCHED = (
    "{} is an async def, which handles one message of {} at a time, not {}. Leave out"
    " batch; concurrency is how many run at once."
)


@dataclass(frozen=True, slots=True)
class Handler:
    """A function for messages of a queue, and the options of running it."""

    queue: str
    handle: Handle | AsyncHandle
    join: bool  # run in a database transaction; False: run under a lease
    batch: int  # most deliveries of one unit of work
    concurrency: int  # server sessions, or tasks, in each dispatcher
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
        return name_of(self.handle)

    @property
    def is_async(self) -> bool:
        """Whether it runs as tasks of an event loop."""
        return is_async(self.handle)

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
) -> Callable[[Given], Given]:
    """Register a function for a queue; each has one, or one for each selector.

    Args:
        queue: its name, or an alias; it need not exist yet.
        join: run inside a database transaction that also accepts the message. Give
            False where the work is long or not about the database. In both cases the
            message is claimed before, and the function must return within
            ``BROKER_TRANSACTION_TIMEOUT_S``; after that the message is backed out.
        batch: deliveries in one unit of work, which succeed or fail together.
        concurrency: server sessions: threads that run the function at once; of an
            ``async def`` tasks of an event loop, which may be hundreds.
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
        ImproperlyConfigured: a limit, or a joined or batched ``async def``.
    """

    def register(handle: Given) -> Given:
        if (queue, selector) in HANDLERS:
            which = f" for {selector}" if selector else ""
            raise ImproperlyConfigured(f"{queue} has a handler{which} already")
        if selector:
            parse(selector)
        limits.check(max_running, rate)
        check_kind(handle, queue, join=join, batch=batch)
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


def name_of(handle: Any) -> str:
    if not (hasattr(handle, "__module__") and hasattr(handle, "__qualname__")):
        handle = type(handle)
    return f"{handle.__module__}.{handle.__qualname__}"


def is_async(handle: object) -> bool:
    """Whether a call of a function, or of a callable object, returns a coroutine."""
    of_object = getattr(type(handle), "__call__", None)  # noqa: B004  # not if, but how
    return inspect.iscoroutinefunction(handle) or inspect.iscoroutinefunction(of_object)


def check_kind(handle: object, queue: str, *, join: bool, batch: int) -> None:
    """Refuse options that a coroutine function cannot have.

    Raises:
        ImproperlyConfigured: it is joined, or has a batch.
    """
    if not is_async(handle):
        return
    if join:
        raise ImproperlyConfigured(JOINED.format(name_of(handle), queue))
    if batch != 1:
        raise ImproperlyConfigured(BATCHED.format(name_of(handle), queue, batch))


def discover() -> Collection[Handler]:
    """The handlers of all installed applications."""
    autodiscover_modules("handlers")
    return HANDLERS.values()
