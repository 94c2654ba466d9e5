"""Middleware of handlers: what a project wraps around all of them, such as logging.

A middleware is written as Django's is: a callable that takes the next one, and returns
a callable with the arguments of a handler::

    def timed(call_next: Handle) -> Handle:
        def handle(delivery: Delivery, work: UnitOfWork) -> None:
            with timer(delivery.address):
                call_next(delivery, work)

        return handle

It runs where the handler runs: in its database transaction, if it is joined. If it
raises, or lets an exception of the handler pass, the message is backed out; if it
returns without a call, the message is accepted.

Around a handler that is an ``async def``, it runs in the event loop. So it says, as
Django's does, that it can take a coroutine function, and then returns one::

    @sync_and_async_middleware
    def timed(call_next: Any) -> Any:
        async def handle(delivery: Delivery, work: UnitOfWork) -> None:
            with timer(delivery.address):
                await call_next(delivery, work)

        return handle if iscoroutinefunction(call_next) else ...
"""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from broker.client.dispatch.handlers import AsyncHandle, Handle, is_async

NOT_BOTH = (
    "The middleware {} of BROKER_HANDLER_MIDDLEWARE is {}, and cannot wrap {}, which is"
    " {}. Decorate it with sync_and_async_middleware of django.utils.decorators, and"
    " return an async def if it is given one, a def otherwise."
)
KINDS = {True: "an async def", False: "a def"}
NAMES_NO = "BROKER_HANDLER_MIDDLEWARE names {}, which cannot be imported: {}"


def wrapped(handle: Handle | AsyncHandle, name: str) -> Handle | AsyncHandle:
    """A handler within all middleware, the first outermost.

    Args:
        handle: the handler.
        name: the name of the handler, for people.

    Raises:
        ImproperlyConfigured: one cannot be imported, or cannot wrap a function of this
            kind.
    """
    kind = is_async(handle)
    if kind and not iscoroutinefunction(handle):  # an object, which does not look so
        handle = method_of(handle)
    for path in reversed(settings.BROKER_HANDLER_MIDDLEWARE):
        try:
            middleware = import_string(path)
        except ImportError as error:
            raise ImproperlyConfigured(NAMES_NO.format(path, error)) from error
        fits = can_wrap(middleware, is_async=kind)
        handle = middleware(handle) if fits else handle
        if not fits or is_async(handle) is not kind:
            said = path, KINDS[not kind], name, KINDS[kind]
            raise ImproperlyConfigured(NOT_BOTH.format(*said))
    return handle


def method_of(handle: Any) -> AsyncHandle:
    """The coroutine function of a callable object."""
    method: AsyncHandle = handle.__call__
    return method


def can_wrap(middleware: object, *, is_async: bool) -> bool:
    """What a middleware says of itself, by the attributes of Django's middleware."""
    if is_async:
        return bool(getattr(middleware, "async_capable", False))
    return bool(getattr(middleware, "sync_capable", True))
