"""Starts the whole console from a checkout with one command, and stops it."""

from __future__ import annotations

import http.client
import os
import shlex
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection
from honcho.colour import get_colours
from honcho.environ import parse_procfile

from broker.amqp import ports
from console.runtime import first_run, forkserver, preflight, servers, supervisor
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import MARK, Program, SupervisedProgram, Terminal

WEB_ANSWERS_WITHIN_S = 120
ASK_AGAIN_AFTER_S = 0.1
# the listener first stores the messages that clients have put
STOPS_WITHIN_S = {"listener": 20.0}


class Command(BaseCommand):
    help = (
        "Start everything on this machine: PostgreSQL and Redis where no address is"
        " set, the pages, the workers and the dispatcher. Ctrl-C ends it all."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--demo",
            nargs="?",
            const="",
            metavar="DIR",
            help="send messages continuously, from the files of a directory if named",
        )
        parser.add_argument(
            "--procfile",
            type=Path,
            default=settings.BASE_DIR / "Procfile",
            help="the processes to keep running",
        )

    def handle(self, *, demo: str | None, procfile: Path, **_: object) -> None:
        try:
            environment = environment_of_children(demo)
            programs = table(procfile, demo, environment)
            terminal = Terminal(sys.stdout, [program.name for program in programs])
            with everything(programs, environment, terminal) as web:
                wait_until_it_answers(web, environment)
                welcome(environment, terminal)
                connection.close()
                supervisor.rest()
        except CannotStart as refusal:
            self.stderr.write(str(refusal))
            sys.exit(1)
        except KeyboardInterrupt:
            terminal.say("Everything is stopped.")


@contextmanager
def everything(
    programs: list[Program], environment: Mapping[str, str], terminal: Terminal
) -> Iterator[SupervisedProgram]:
    """Run everything; yields the web process."""
    var = settings.VAR_DIR
    kept = [SupervisedProgram(program, terminal) for program in programs]
    preflight.check_directory(var)
    with preflight.only_one(var), supervisor.stopped_by_signals(kept):
        supervisor.stop_left_behind(str(var), terminal.say)
        preflight.check_port(environment["HOST"], environment["PORT"])
        with servers.servers(var, terminal):
            first_run.make_secret_key(settings.SECRET_KEY_FILE)
            first_run.make_secret_keys(settings.SECRET_KEYS_FILE)
            first_run.migrate(terminal.say)
            first_run.tell_lost_passwords(terminal.say)
            first_run.make_places()
            first_run.collect_static(terminal.say)
            os.environ.update(environment)  # the server of forks loads the settings
            try:
                for one in kept:
                    one.start()
                yield next(one for one in kept if one.program.name == "web")
            finally:
                terminal.say("Stopping.")
                supervisor.stop(kept)
                forkserver.stop()


def environment_of_children(demo: str | None) -> dict[str, str]:
    return {
        "HOST": "127.0.0.1",
        "PORT": "8000",
        "BROKER_AMQP_PORT": str(port_of_listener()),
        # Celery warns of root because messages could carry code; ours are ids in JSON.
        "PYTHONWARNINGS": "ignore::UserWarning:celery.platforms",
        **os.environ,
        **({} if demo is None else {"BACKOUT_DEMO": "1"}),
        "BACKOUT_VAR": str(settings.VAR_DIR),
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
        MARK: str(settings.VAR_DIR),
    }


def port_of_listener() -> int:
    """The AMQP port: the configured one, or the next free one.

    All processes get it, so that pages and clients use the same port.

    Raises:
        CannotStart: none is free.
    """
    meant: int = settings.BROKER_AMQP_PORT
    if settings.BROKER_AMQP_PORT_IS_FIXED:
        return meant
    try:
        return ports.free(settings.BROKER_AMQP_HOST, meant, is_fixed=False)
    except OSError as error:
        raise CannotStart(str(error)) from error


def table(
    procfile: Path, demo: str | None, environment: Mapping[str, str]
) -> list[Program]:
    """The processes to keep running: the Procfile, and the demonstration's traffic."""
    commands = dict(parse_procfile(procfile.read_text()).processes)
    if demo is not None:
        commands["clients"] = "python manage.py demo_clients"
        commands["demo"] = "python manage.py seed_demo --forever"
    if demo:
        if not Path(demo).is_dir():
            raise CannotStart(f"There is no directory {demo} to take messages from.")
        commands["demo"] += f" --dir {shlex.quote(demo)}"
    return [
        Program(
            name=name,
            arguments=["/bin/sh", "-c", f"exec {command}"],
            forked=forkserver.python_command(command, environment),
            environment={**environment, forkserver.NAME: name},
            directory=settings.BASE_DIR,
            colour=colour,
            signals=[(signal.SIGTERM, STOPS_WITHIN_S.get(name, 10.0))],
        )
        for (name, command), colour in zip(
            commands.items(), get_colours(), strict=False
        )
    ]


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
    connection = http.client.HTTPConnection(ports.reachable(host), port, timeout=30)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def welcome(environment: Mapping[str, str], terminal: Terminal) -> None:
    password = first_run.first_administrator()
    if password:
        terminal.say(
            f"The first administrator is admin, with the password {password} -- shown"
            " only this once. Change it after signing in."
        )
    url = ports.url("http", environment["HOST"], int(environment["PORT"]))
    terminal.say(f"Backout is running: {url}/")
