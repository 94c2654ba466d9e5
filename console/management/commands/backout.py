"""Put, get, browse and operate from a terminal; see docs/command-line.md."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from django.core.management.base import CommandError
from django.utils.translation import override
from django_typer.management import command, group
from typer import Argument, Option

from broker.acts.operations.planning import PlanOperation
from broker.acts.operations.resubmits import PlanResubmit
from broker.checks import BROKER
from broker.config.documents import LARGEST_BYTES
from broker.models import Operation
from broker.sql import database_now
from console import cli as groups
from console.configuration.cli import settings as settings_commands
from console.configuration.cli.declarations import DeclarationCommands
from console.configuration.cli.objects import add_groups
from console.edges.commands import actors, printing
from console.edges.commands.actors import NOTHING, REFUSED, USAGE
from console.edges.commands.options import (
    EveryQueue,
    Filters,
    Json,
    Limit,
    Only,
    Reason,
    Unmask,
    User,
    Yes,
    body_of,
    contents,
    properties_of,
)
from console.home.cli import RunCommands
from console.messages.cli import exchange
from console.messages.cli import queues as queue_commands
from console.operations import cli as ordering
from dashboards.live.languages import ENGLISH

NOT_UNDERSTOOD = typer.BadParameter.__mro__[1]  # UsageError, not exported by typer
Kind = Operation.Kind


class Command(RunCommands, DeclarationCommands):
    help = "Put, get, browse and operate from a terminal."
    requires_system_checks = [BROKER]

    def execute(self, *args: Any, **options: Any) -> Any:
        """Report errors of the broker and of the database in words. Commands are in
        English, whatever the language of the project."""
        with override(ENGLISH), actors.audited(), actors.refused_in_words():
            return super().execute(*args, **options)  # type: ignore[no-untyped-call]

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        """Exit with the code of wrong usage if the arguments were not understood."""
        try:
            return super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        except (SystemExit, CommandError) as end:
            if not isinstance(error, NOT_UNDERSTOOD):
                raise
            if isinstance(end, SystemExit):  # the error was printed already
                raise SystemExit(USAGE) from None
            raise CommandError(str(error), returncode=USAGE) from None

    @property
    def out(self) -> TextIO:
        """Standard output without the line end that Django adds to each piece."""
        return cast(TextIO, self.stdout._out)

    @property
    def errors(self) -> TextIO:
        return cast(TextIO, self.stderr._out)

    def tell(self, told: Any, sentence: str, *, as_json: bool) -> None:
        if as_json:
            printing.as_json(self.out, told)
        else:
            self.stdout.write(sentence)

    def tell_rows(
        self, name: str, rows: list[dict[str, Any]], *, as_json: bool, empty: str
    ) -> None:
        """A table or a JSON document; without rows, a sentence and exit code 3."""
        if as_json:
            printing.as_json(self.out, {name: rows})
        elif rows and "body" in rows[0]:
            printing.as_messages(self.out, rows)
        elif rows:
            printing.as_table(self.out, rows)
        else:
            self.stderr.write(empty)
        if not rows:
            raise typer.Exit(NOTHING)

    @command()
    def put(  # noqa: PLR0913
        self,
        address: Annotated[str, Argument(help="The address to send to.")],
        body: Annotated[
            str, Argument(help="The text of the body; - is standard input.")
        ] = "-",
        *,
        file: Annotated[
            Path | None, Option(help="A file with the body, instead of a text.")
        ] = None,
        content_type: Annotated[str, Option(help="The content type of the body.")] = "",
        properties: Annotated[
            list[str] | None, Option("--property", "-p", help="name=text; repeatable.")
        ] = None,
        priority: Annotated[int, Option(min=0, max=9, help="9 is the highest.")] = 4,
        delay: Annotated[float, Option(min=0, help="Seconds before it is ready.")] = 0,
        ttl: Annotated[float, Option(min=0, help="Seconds until it expires.")] = 0,
        subject: Annotated[str | None, Option(help="JMSType.")] = None,
        group_id: Annotated[str | None, Option(help="JMSXGroupID.")] = None,
        correlation_id: Annotated[str | None, Option(help="JMSCorrelationID.")] = None,
        reply_to: Annotated[str | None, Option(help="JMSReplyTo.")] = None,
        user: User = None,
        json: Json = False,
    ) -> None:
        """Put one message."""
        data, guessed = body_of(body, file)
        now = database_now()
        told = queue_commands.put(
            actors.acting(user),
            address,
            data,
            content_type=content_type or guessed,
            properties=properties_of(properties or []),
            priority=priority,
            deliver_at=now + timedelta(seconds=delay) if delay else None,
            expires_at=now + timedelta(seconds=ttl) if ttl else None,
            subject=subject,
            group_id=group_id,
            correlation_id=correlation_id,
            reply_to=reply_to,
        )
        taken = ", ".join(told["queues"]) or "no queue, so it was dropped"
        self.tell(told, f"Message {told['message_id']} is on {taken}.", as_json=json)

    @command()
    def get(
        self,
        queue: Annotated[str, Argument(help="The queue.")],
        limit: Limit = 1,
        unmask: Unmask = "",
        user: User = None,
        yes: Yes = False,  # noqa: FBT002
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Get the next messages of a queue, and print them."""
        rows = queue_commands.get(
            actors.acting(user), queue, limit, does=yes, why=unmask
        )
        if rows and not yes:
            self.stderr.write(
                "These are next. Nothing was taken; use --yes to take them."
            )
        empty = f"Nothing is ready on {queue}."
        self.tell_rows("messages", rows, as_json=json, empty=empty)

    @command()
    def resubmit(
        self,
        filters: Filters,
        reason: Reason = "",
        every_queue: EveryQueue = False,  # noqa: FBT002
        user: User = None,
        yes: Yes = False,  # noqa: FBT002
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Resubmit dead letters to the queues they came from."""
        what = PlanResubmit(f=tuple(filters), every_queue=every_queue, reason=reason)
        self.work(what, user, does=yes, as_json=json)

    @command()
    def move(
        self,
        queue: Annotated[str, Argument(help="The target queue.")],
        filters: Filters,
        reason: Reason = "",
        user: User = None,
        yes: Yes = False,  # noqa: FBT002
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Move messages to one queue."""
        what = PlanOperation(
            Kind.MOVE, queue, filter=tuple(filters), canary=0, reason=reason
        )
        self.work(what, user, does=yes, as_json=json)

    @command()
    def purge(
        self,
        queue: Annotated[str, Argument(help="Which.")],
        filters: Only = None,
        reason: Reason = "",
        user: User = None,
        yes: Yes = False,  # noqa: FBT002
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Remove messages from a queue; they go to the discard bin."""
        chosen = (queue_commands.on_queue(queue), *(filters or []))
        what = PlanOperation(Kind.REMOVE, filter=chosen, canary=0, reason=reason)
        self.work(what, user, does=yes, as_json=json)

    def work(
        self,
        what: PlanOperation | PlanResubmit,
        user: str | None,
        *,
        does: bool,
        as_json: bool,
    ) -> None:
        """Plan an operation, or execute it."""
        told = ordering.work(actors.acting(user), what, self.errors, does=does)
        self.tell(told, ordering.in_words(told), as_json=as_json)
        if does and not told["done"]:
            raise typer.Exit(REFUSED)

    @group(help="The address settings, as a document.")
    def settings(self) -> None:
        pass

    @settings.command(name="export")
    def export_settings(
        self,
        form: Annotated[
            str, Option("--format", help="json, or xml for Artemis.")
        ] = "json",
        user: User = None,
    ) -> None:
        """Write all settings to standard output."""
        self.stdout.write(
            settings_commands.settings_document(actors.acting(user), form), ending=""
        )

    @settings.command(name="import")
    def import_settings(
        self,
        file: Annotated[Path, Argument(help="JSON, or Artemis' broker.xml.")],
        *,
        mode: Annotated[
            str, Option(help="merge; replace also removes settings not in the file.")
        ] = "merge",
        user: User = None,
        yes: Yes = False,
        json: Json = False,
    ) -> None:
        """Show what a document would change; with --yes, make all changes or none."""
        raw = contents(file, LARGEST_BYTES)
        told = settings_commands.import_settings(
            actors.acting(user), raw, mode, does=yes
        )
        self.tell(told, settings_commands.changes_in_words(told), as_json=json)
        if not told["changes"]:
            raise typer.Exit(NOTHING)

    @group(help="Export messages to a file, and import them.")
    def messages(self) -> None:
        pass

    @messages.command(name="export")
    def export_messages(
        self,
        filters: Filters,
        to: Annotated[Path, Option("--to", help="The file; it must not exist.")],
        unmask: Unmask = "",
        user: User = None,
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Write complete messages, one per line, the oldest first."""
        who = actors.acting(user)
        told = exchange.take_out(who, filters, to, self.errors, why=unmask)
        if not told["messages"]:
            raise CommandError("Nothing was found.", returncode=NOTHING)
        self.tell(told, f"Wrote {told['messages']:,} messages to {to}.", as_json=json)

    @messages.command(name="import")
    def import_messages(
        self,
        file: Annotated[Path, Argument(help="A file that was exported.")],
        to: Annotated[
            str | None, Option("--to", help="Send all to this address instead.")
        ] = None,
        user: User = None,
        yes: Yes = False,  # noqa: FBT002
        json: Json = False,  # noqa: FBT002
    ) -> None:
        """Check the messages of a file; with --yes, put them."""
        told = exchange.take_in(actors.acting(user), file, to, self.errors, does=yes)
        self.tell(told, exchange.taken_in_words(told, does=yes), as_json=json)
        if not told["messages"]:
            raise typer.Exit(NOTHING)


groups.add_all(Command, add_groups(Command))
