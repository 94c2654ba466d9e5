"""``backout run``, ``status`` and ``init``: processes and files of a project."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError
from django_typer.management import TyperCommand, command
from typer import Argument, Exit, Option

from broker.management import init
from console.edges.commands import printing
from console.edges.commands.actors import NOTHING
from console.edges.commands.options import Json
from console.runtime import project, status
from console.runtime.preflight import CannotStart


class RunCommands(TyperCommand):
    """The command ``backout`` inherits them."""

    def tell(self, told: Any, sentence: str, *, as_json: bool) -> None:
        raise NotImplementedError

    @command()
    def run(
        self,
        process: Annotated[
            list[str] | None,
            Argument(help="dispatcher, listener, bridge, …; without a name all."),
        ] = None,
        *,
        web: Annotated[bool, Option("--web", help="Serve the project, too.")] = False,
        host: Annotated[str, Option(help="Where web listens.")] = "127.0.0.1",
        port: Annotated[int, Option(help="Its port.")] = 8000,
    ) -> None:
        """Run the processes of a project, until Ctrl-C."""
        try:
            project.run(process or [], web=web, host=host, port=port)
        except CannotStart as refusal:
            raise CommandError(str(refusal)) from None

    @command()
    def status(self, *, json: Json = False) -> None:
        """Tell where Backout runs on this machine, its processes, and what needs
        somebody."""
        try:
            found = status.look()
        except (OperationalError, InterfaceError) as error:
            raise CommandError(status.AWAY, returncode=NOTHING) from error
        wrong = [printing.in_words(one.sentence) for one in found.wrong]
        said = [str(found), f"Wrong now: {len(wrong)}.", *(f"- {one}" for one in wrong)]
        self.tell(asdict(found), "\n".join(said), as_json=json)
        if not found.is_running:
            raise Exit(NOTHING)

    @command(name="init")
    def add_to_project(
        self,
        *,
        prefix: Annotated[str, Option(help="Of the console's pages.")] = "ops/",
        broker_only: Annotated[
            bool, Option("--broker-only", help="Without the console.")
        ] = False,
        yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    ) -> None:
        """Add Backout to a project's settings, URLs and asgi.py."""
        init.handle(prefix=prefix, broker_only=broker_only, yes=yes)
