"""Commands of a project that has the broker alone; the console's have all of these."""

from __future__ import annotations

import signal
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.checks import BROKER
from broker.management import init
from broker.management.processes import Processes, spawned

COMMANDS = {  # the management commands of each process
    "dispatcher": ("broker_dispatch",),
    "listener": ("broker_listen",),
    "bridge": ("broker_bridge",),
}
STOP_WITHIN_S = 25.0  # a listener first stores what clients have put


class Command(BaseCommand):
    help = "Run the broker's processes, or change a project so that it has the console."
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        named = parser.add_subparsers(dest="named", required=True)
        run = named.add_parser("run", help="run processes, until Ctrl-C")
        run.add_argument(
            "process",
            nargs="*",
            metavar="|".join(COMMANDS),
            help="which, without a name the dispatcher",
        )
        init.add_arguments(named.add_parser("init", help=init.HELP))

    def handle(self, *, named: str, **options: Any) -> None:
        if named == "init":
            init.handle(**options)
            return
        names: list[str] = options["process"] or ["dispatcher"]
        if wrong := set(names) - COMMANDS.keys():
            known = ", ".join(COMMANDS)
            sentence = f"There is no process {wrong.pop()}; there are {known}."
            raise CommandError(sentence)
        commands = [partial(spawned, COMMANDS[one]) for one in dict.fromkeys(names)]
        kept = Processes(commands, stop_within_s=STOP_WITHIN_S)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: kept.stopping.set())
        self.say(f"Running: {', '.join(dict.fromkeys(names))}. Ctrl-C ends it.")
        kept.run(self.say)

    def say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()
