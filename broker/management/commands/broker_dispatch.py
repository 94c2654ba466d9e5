"""Run the handlers that applications registered with ``@consumes``."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.checks import BROKER, refuse_unsafe_server
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import discover
from broker.errors import UnsafeServer


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

    def handle(
        self, *, concurrency: int | None, queue: list[str] | None, **_: object
    ) -> None:
        try:
            refuse_unsafe_server()
        except UnsafeServer as error:
            raise CommandError(str(error)) from error
        handlers = [
            replace(one, concurrency=concurrency or one.concurrency)
            for one in discover()
            if queue is None or one.queue in queue
        ]
        if not handlers:
            self.stderr.write(
                "No application registers a handler; write @consumes in its handlers.py"
                " and start this again. Waiting."
            )
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        dispatcher = Dispatcher(handlers)
        dispatcher.start()
        for one in handlers:
            which = f" ({one.selector})" if one.selector else ""
            self.stdout.write(f"{one.queue}{which} → {one.name} ×{one.concurrency}")
        self.stdout.flush()
        stop.wait()
        self.stdout.write("Stopping: waiting for running handlers to finish.")
        dispatcher.stop()
