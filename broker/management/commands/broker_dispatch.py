"""Run the handlers that applications registered with ``@consumes``."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from functools import partial

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.alerts import handler  # noqa: F401  the handler of notifications
from broker.alerts.names import QUEUE
from broker.checks import BROKER, refuse_unsafe_server
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import Handler, discover
from broker.client.dispatch.middleware import wrapped
from broker.errors import UnsafeServer
from broker.housekeeping.housekeeper import Housekeeper
from broker.management.processes import (
    Processes,
    forked,
    is_one_of_several,
    is_orphan,
    usable_processors,
)

LOOK_S = 1.0


class Command(BaseCommand):
    help = (
        "Consume queues with the handlers of the installed applications, until Ctrl-C."
        " Run as many of these as you like."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--concurrency",
            type=int,
            help="server sessions of each handler (default: as the handler declares)",
        )
        parser.add_argument(
            "--queue", action="append", help="only this queue; repeatable"
        )

        parser.add_argument(
            "--processes",
            type=int,
            default=usable_processors(),
            help="processes that run the handlers, forks of this one (default: one for"
            " each processor, here %(default)s)",
        )

    def handle(
        self,
        *,
        concurrency: int | None,
        queue: list[str] | None,
        processes: int,
        **_: object,
    ) -> None:
        try:
            refuse_unsafe_server()
        except UnsafeServer as error:
            raise CommandError(str(error)) from error
        if getattr(settings, "TASKS", None):
            # Imported only here, as it needs Django's Tasks or the package
            # django-tasks.
            from broker.client.django_tasks import running  # noqa: PLC0415

            running.register()
        handlers = [
            replace(one, concurrency=concurrency or one.concurrency)
            for one in discover()
            if queue is None or one.queue in queue
        ]
        try:
            for one in handlers:
                wrapped(one.handle, one.name)
        except ImproperlyConfigured as error:  # of middleware
            raise CommandError(str(error)) from error
        if not is_one_of_several():
            self.tell(handlers)
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        # The Housekeeper is created now, so that its imports do not delay messages
        # later.
        dispatch = partial(self.dispatch, handlers, Housekeeper(), stop)
        if processes > 1:
            # Forks inherit the event and the signal handlers.
            begin = partial(forked, dispatch)
            Processes([begin] * processes, stopping=stop).run(self.say)
        else:
            dispatch()

    def dispatch(
        self, handlers: list[Handler], housekeeper: Housekeeper, stop: threading.Event
    ) -> None:
        dispatcher = Dispatcher(handlers)
        dispatcher.start()
        housekeeper.start()
        while not (stop.wait(LOOK_S) or is_orphan()):
            pass
        try:
            if not is_one_of_several():
                self.say("Stopping: waiting for running handlers to finish.")
        finally:  # also if the output is closed, and writing fails
            dispatcher.stop()
            housekeeper.stop()

    def tell(self, handlers: list[Handler]) -> None:
        # Without the broker's own handler of notifications.
        theirs = [one for one in handlers if one.queue != QUEUE]
        if not theirs:
            self.stderr.write(
                "No application registers a handler; write @consumes in its handlers.py"
                " and start this again. Waiting."
            )
        for one in theirs:
            which = f" ({one.selector})" if one.selector else ""
            self.say(f"{one.queue}{which} → {one.name} ×{one.concurrency}")

    def say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()
