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
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from broker.client.dispatch.handlers import Handle

NAMES_NO = "BROKER_HANDLER_MIDDLEWARE names {}, which cannot be imported: {}"


def wrapped(handle: Handle) -> Handle:
    """A handler within all middleware, the first outermost.

    Raises:
        ImproperlyConfigured: one cannot be imported.
    """
    for path in reversed(settings.BROKER_HANDLER_MIDDLEWARE):
        try:
            handle = import_string(path)(handle)
        except ImportError as error:
            raise ImproperlyConfigured(NAMES_NO.format(path, error)) from error
    return handle
