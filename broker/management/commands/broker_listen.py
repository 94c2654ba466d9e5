"""Run the AMQP 1.0 listener."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import sys
from contextlib import ExitStack, suppress
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.amqp import ports
from broker.amqp.clients.tls import Certificates
from broker.amqp.listener import Listener
from broker.checks import BROKER, refuse_unsafe_server
from broker.errors import UnsafeServer
from broker.management import processes
from broker.management.processes import Processes, spawned

LOOK_S = 1.0
STOP_WITHIN_S = 19.5
END_WITHIN_S = 19.0
TURN_S = 0.0005


class Where(NamedTuple):
    """Host and ports of a listener; it has a TLS port only if there is a
    certificate."""

    host: str
    port: int
    tls_port: int | None

    def describe(self) -> str:
        """The URLs that clients can connect to, as a sentence."""
        places = [ports.url("amqp", self.host, self.port)]
        if self.tls_port is not None:
            places.append(ports.url("amqps", self.host, self.tls_port))
        return f"Clients of AMQP 1.0 connect to {' or '.join(places)}."


class Command(BaseCommand):
    help = "Listen for AMQP 1.0 clients that put and get, until Ctrl-C."
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", help="local address to listen on")
        parser.add_argument(
            "--port", type=int, help="port without TLS; 0: any free port"
        )
        parser.add_argument("--tls-port", type=int, help="port with TLS")
        parser.add_argument(
            "--processes",
            type=int,
            default=1,
            help="processes that share the ports; under load, one for each processor",
        )

    def handle(
        self,
        *,
        host: str | None,
        port: int | None,
        tls_port: int | None,
        processes: int,
        **_: object,
    ) -> None:
        try:
            refuse_unsafe_server()
            self.check(tags=["start"], include_deployment_checks=True)
            certificates = Certificates.from_settings()
            where = find(host, port, tls_port, has_tls=certificates is not None)
            if processes > 1:
                self.run_several(processes, where)
            else:
                allow_many_sockets()
                asyncio.run(self.listen(where, certificates))
        except (UnsafeServer, OSError) as error:
            raise CommandError(str(error)) from error

    def run_several(self, count: int, where: Where) -> None:
        """Run several listener processes, and keep their ports open."""
        options = [f"--host={where.host}", f"--port={where.port}"]
        if where.tls_port is not None:
            options.append(f"--tls-port={where.tls_port}")
        begin = partial(spawned, ["broker_listen", *options])
        several = Processes([begin] * count, stop_within_s=STOP_WITHIN_S)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: several.stopping.set())
        with ExitStack() as held:
            for port in {where.port, where.tls_port} - {None}:
                assert port is not None, "it was taken away"
                held.enter_context(ports.bound(where.host, port, is_shared=True))
            self.say(where.describe())
            several.run(self.say)

    async def listen(self, where: Where, certificates: Certificates | None) -> None:
        listener = Listener(certificates=certificates)
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            listener.loop.add_signal_handler(number, stop.set)
        is_shared = processes.is_one_of_several()
        await listener.start(*where, reuse_port=is_shared)
        collect_less()
        take_turns()
        if not is_shared:
            self.say(where.describe())
        while not (stop.is_set() or processes.is_orphan()):
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_S)
        if not is_shared:
            self.say("Stopping: messages that clients have put are stored first.")
        with suppress(TimeoutError):
            await asyncio.wait_for(listener.stop(), END_WITHIN_S)

    def say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


def find(
    host: str | None, port: int | None, tls_port: int | None, *, has_tls: bool
) -> Where:
    """The ports to listen on, from the options or from the settings.

    Raises:
        PortTaken: a port is in use.
    """
    host = settings.BROKER_AMQP_HOST if host is None else host
    is_fixed = settings.BROKER_AMQP_PORT_IS_FIXED if port is None else True
    port = settings.BROKER_AMQP_PORT if port is None else port
    if processes.is_one_of_several():  # the parent process has chosen the ports
        return Where(host, port, tls_port)
    port = ports.free(host, port, is_fixed=is_fixed)
    if not has_tls:
        return Where(host, port, None)
    tls_port = settings.BROKER_AMQPS_PORT if tls_port is None else tls_port
    return Where(host, port, ports.free(host, tls_port, is_fixed=True))


def collect_less() -> None:
    """Run the garbage collector less often, and not on objects created at the start.

    Thousands of messages in memory trigger the collector often. They are no garbage,
    and each run took as long as reading a message.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def take_turns() -> None:
    """Let database threads interrupt a busy event loop after ``TURN_S``.

    A thread needs the interpreter again for each part of a result that arrives. With
    Python's 5 ms, beside a loop that is always busy, gets took a third longer.
    """
    sys.setswitchinterval(TURN_S)


def allow_many_sockets() -> None:
    """Raise the limit of open files to the system's maximum."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
