"""Starts the whole console from a checkout with one command, and stops it.

``manage.py run``. It stays as long as the console runs, so it loads neither Django nor
the settings: what needs them are its programs.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from django.core.exceptions import ImproperlyConfigured
from honcho.colour import get_colours
from honcho.environ import parse_procfile

from broker.amqp import ports
from broker.config import django_settings
from console.runtime import forkserver, keys, preflight, servers, supervisor
from console.runtime.directories import (
    BASE_DIR,
    SECRET_KEY_FILE,
    SECRET_KEYS_FILE,
    VAR_DIR,
)
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import (
    ADDRESS,
    MARK,
    Program,
    SupervisedProgram,
    Terminal,
)

PROCFILE = BASE_DIR / "Procfile"
WEB_ANSWERS_WITHIN_S = 120
ASK_AGAIN_AFTER_S = 0.1
# the listener first stores the messages that clients have put
STOPS_WITHIN_S = {"listener": 20.0}


def main(arguments: Sequence[str]) -> None:
    options = parser().parse_args(arguments)
    try:
        environment = environment_of_children(options.demo)
        programs = table(options.procfile, options.demo, environment)
        terminal = Terminal(sys.stdout, [program.name for program in programs])
        with everything(programs, environment, terminal) as web:
            wait_until_it_answers(web, environment)
            terminal.say(f"Backout is running: {environment[ADDRESS]}")
            supervisor.rest()
    except CannotStart as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        terminal.say("Everything is stopped.")


def parser() -> ArgumentParser:
    made = ArgumentParser(
        prog="manage.py run",
        description="Start everything on this machine: PostgreSQL and Redis where no"
        " address is set, the pages, the workers and the dispatcher. Ctrl-C ends it"
        " all.",
    )
    made.add_argument(
        "--demo",
        nargs="?",
        const="",
        metavar="DIR",
        help="send messages continuously, from the files of a directory if named",
    )
    made.add_argument(
        "--procfile", type=Path, default=PROCFILE, help="the processes to keep running"
    )
    return made


@contextmanager
def everything(
    programs: list[Program], environment: Mapping[str, str], terminal: Terminal
) -> Iterator[SupervisedProgram]:
    """Run everything; yields the web process."""
    kept = [SupervisedProgram(program, terminal) for program in programs]
    preflight.check_directory(VAR_DIR)
    with preflight.only_one(VAR_DIR), supervisor.stopped_by_signals(kept):
        supervisor.stop_left_behind(str(VAR_DIR), terminal.say)
        preflight.check_port(environment["HOST"], environment["PORT"])
        keys.make_secret_key(SECRET_KEY_FILE)
        keys.make_secret_keys(SECRET_KEYS_FILE)
        os.environ.update(environment)
        try:
            if forkserver.IS_SAFE:
                forkserver.start()  # it loads the settings while the servers start
            with servers.servers(VAR_DIR, terminal):
                try:
                    prepare(environment, terminal)
                    for one in kept:
                        one.start()
                    yield next(one for one in kept if one.program.name == "web")
                finally:
                    terminal.say(f"Stopping {environment[ADDRESS]}.")
                    supervisor.stop(kept)
        finally:
            forkserver.stop()


def prepare(environment: Mapping[str, str], terminal: Terminal) -> None:
    """Migrate, and make what a new console needs.

    Raises:
        CannotStart: that failed.
    """
    first = program("prepare", "python manage.py prepare", environment)
    if supervisor.run_once(first, terminal.say) != 0:
        raise CannotStart("The console cannot be prepared. The reason is above.")


def environment_of_children(demo: str | None) -> dict[str, str]:
    made = {
        "HOST": "127.0.0.1",
        "PORT": "8000",
        "BROKER_AMQP_PORT": str(port_of_listener()),
        "MALLOC_ARENA_MAX": "2",  # else threads keep much memory that they have freed
        # Celery warns if root runs it, because messages could carry code. Ours carry
        # only ids.
        "PYTHONWARNINGS": "ignore::UserWarning:celery.platforms",
        **os.environ,
        **({} if demo is None else {"BACKOUT_DEMO": "1"}),
        "BACKOUT_VAR": str(VAR_DIR),
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
        MARK: str(VAR_DIR),
    }
    return made | {ADDRESS: f"{ports.url('http', made['HOST'], made['PORT'])}/"}


def port_of_listener() -> int:
    """The AMQP port: the configured one, or the next free one.

    All processes get it, so that pages and clients use the same port.

    Raises:
        CannotStart: none is free, or a variable has a wrong value.
    """
    given = SimpleNamespace()
    try:
        django_settings.complete(given, os.environ)
        meant: int = given.BROKER_AMQP_PORT
        if given.BROKER_AMQP_PORT_IS_FIXED:
            return meant
        return ports.free(given.BROKER_AMQP_HOST, meant, is_fixed=False)
    except (ImproperlyConfigured, OSError) as error:
        raise CannotStart(str(error)) from error


def table(
    procfile: Path, demo: str | None, environment: Mapping[str, str]
) -> list[Program]:
    """The processes to keep running: the Procfile, and the demonstration's traffic."""
    commands = dict(parse_procfile(procfile.read_text()).processes)
    if demo is not None:
        commands["clients"] = "python manage.py demo_clients"
        # By env, so that it is no fork of what has loaded the console's own tasks.
        commands["tasks"] = (
            "env python -m celery --quiet -A console.demo.receipts worker --pool solo"
            " -Q receipts -n receipts@%h -l CRITICAL --without-gossip --without-mingle"
        )
        commands["demo"] = "python manage.py seed_demo --forever"
    if demo:
        if not Path(demo).is_dir():
            raise CannotStart(f"There is no directory {demo} to take messages from.")
        commands["demo"] += f" --dir {shlex.quote(demo)}"
    return [
        program(name, command, environment, colour)
        for (name, command), colour in zip(
            commands.items(), get_colours(), strict=False
        )
    ]


def program(
    name: str, command: str, environment: Mapping[str, str], colour: str | None = None
) -> Program:
    return Program(
        name=name,
        arguments=["/bin/sh", "-c", f"exec {command}"],
        forked=forkserver.python_command(command, environment),
        environment={**environment, forkserver.NAME: name},
        directory=BASE_DIR,
        colour=colour,
        signals=[(signal.SIGTERM, STOPS_WITHIN_S.get(name, 10.0))],
    )


def wait_until_it_answers(
    web: SupervisedProgram, environment: Mapping[str, str]
) -> None:
    deadline = time.monotonic() + WEB_ANSWERS_WITHIN_S
    while not answers(environment["HOST"], int(environment["PORT"])):
        if web.ends or time.monotonic() > deadline:
            raise CannotStart(
                "The pages do not answer. The output of the web process is above."
            )
        time.sleep(ASK_AGAIN_AFTER_S)


def answers(host: str, port: int) -> bool:
    """Whether an HTTP server answers there, with any status."""
    place = (ports.reachable(host), port)
    try:
        with socket.create_connection(place, timeout=30) as line:
            line.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return line.recv(16).startswith(b"HTTP/")
    except OSError:
        return False
