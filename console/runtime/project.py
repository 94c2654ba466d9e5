"""Keeps the processes of a project running; ``backout run``.

The project has its own database, its own Redis if any, and its own web server.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import connection
from honcho.colour import get_colours

from broker.amqp import ports
from broker.management.processes import DJANGO
from console.runtime import supervisor
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import (
    ADDRESS,
    MARK,
    Program,
    SupervisedProgram,
    Terminal,
)
from dashboards.pipeline import unattended

PYTHON = sys.executable
STOPS_WITHIN_S = {"listener": 20.0}  # the listener first stores what clients have put
WORKERS = {  # options of Celery's workers: queues, and how they work
    "deadlines": "-Q deadlines --pool threads --concurrency 5",
    "worker": "-Q housekeeping --concurrency 2",
    "reports": "-Q reports --pool solo --concurrency 1",
}
QUIET = "-l WARNING --without-gossip --without-mingle"


def commands(host: str, port: int) -> dict[str, list[str]]:
    """The command of each process that this project can have."""
    found = {
        "dispatcher": [*DJANGO, "broker_dispatch"],
        "listener": [*DJANGO, "broker_listen"],
        "bridge": [*DJANGO, "broker_bridge"],
        "web": [
            *(PYTHON, "-m", "uvicorn", "console.runtime.web:application"),
            *("--host", host, "--port", str(port), "--ws", "websockets-sansio"),
            *("--timeout-graceful-shutdown", "3", "--no-access-log"),
            *("--log-level", "warning"),
        ],
    }
    if not settings.BACKOUT_CELERY_APP:
        return found
    celery = [PYTHON, "-m", "celery", "--quiet", "-A", settings.BACKOUT_CELERY_APP]
    for name, options in WORKERS.items():
        if name == "reports" and unattended.missing_here():
            continue
        own = ["-n", f"{name}@%h", *options.split(), *QUIET.split()]
        found[name] = [*celery, "worker", *own]
    found["beat"] = [*celery, "beat", "--pidfile=", "-l", "WARNING"]
    return found


def run(names: Sequence[str], *, web: bool, host: str, port: int) -> None:
    """Run processes until Ctrl-C.

    Args:
        names: which; none for all but ``web``.
        web: with ``web``, on this host and port.

    Raises:
        CannotStart: a name is unknown.
    """
    known = commands(host, port)
    address = f"{ports.url('http', host, port)}/"
    chosen = list(names) or [one for one in known if one != "web"]
    if web:
        chosen.append("web")
    if wrong := [one for one in chosen if one not in known]:
        raise CannotStart(unknown(wrong[0], known))
    marks = {MARK: folder(), ADDRESS: address} if "web" in chosen else {}
    terminal = Terminal(sys.stdout, chosen)
    kept = [
        SupervisedProgram(program(name, known[name], colour, marks), terminal)
        for name, colour in zip(dict.fromkeys(chosen), get_colours(), strict=False)
    ]
    with supervisor.stopped_by_signals(kept):
        try:
            for one in kept:
                one.start()
            at = f" at {address}" if marks else ""
            terminal.say(f"Running: {', '.join(chosen)}{at}. Ctrl-C ends it.")
            if "beat" in chosen and "reports" not in chosen:  # beat requests reports
                say_what_is_missing(terminal)
            connection.close()
            supervisor.rest()
        except KeyboardInterrupt:
            terminal.say(f"Stopping {address}." if marks else "Stopping.")
        finally:
            supervisor.stop(kept)
    terminal.say("Everything is stopped.")


def say_what_is_missing(terminal: Terminal) -> None:
    if missing := unattended.missing_here():
        terminal.say(f"{missing.sentence} {missing.remedy} {missing.command}")


def unknown(name: str, known: Mapping[str, object]) -> str:
    workers = (*WORKERS, "beat")
    if name in workers and "beat" not in known:
        return (
            f"There is no {name}: set BACKOUT_CELERY_APP to an application of Celery."
        )
    missing = unattended.missing_here() if name == "reports" else None
    if missing:
        return f"{missing.sentence} {missing.remedy} {missing.command}"
    return f"There is no process {name}; there are {', '.join(known)}."


def folder() -> str:
    """The folder of the project's ``manage.py``, which identifies its processes."""
    return os.path.abspath(sys.path[0])


def program(
    name: str, command: list[str], colour: str, marks: Mapping[str, str]
) -> Program:
    path = os.pathsep.join(one or os.getcwd() for one in sys.path)
    return Program(
        name=name,
        arguments=command,
        environment={
            # Celery warns if root runs it, because messages could carry code. Ours
            # carry only ids.
            "PYTHONWARNINGS": "ignore::UserWarning:celery.platforms",
            **os.environ,
            **marks,
            "PYTHONPATH": path,  # with the folder of manage.py
            "PYTHONUNBUFFERED": "1",
        },
        colour=colour,
        signals=[(signal.SIGTERM, STOPS_WITHIN_S.get(name, 10.0))],
    )
