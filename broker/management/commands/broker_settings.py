"""Export address settings to a document, or import them from one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.checks import BROKER
from broker.config import artemis_xml
from broker.config.documents import LARGEST_BYTES
from broker.config.imports import (
    FORMATS,
    MODES,
    ImportPreview,
    Mode,
    SettingChange,
    apply,
    preview,
    read,
)
from broker.errors.settings import WrongSettings
from broker.models import AddressSetting

SIGNS = {"added": "+", "changed": "~", "removed": "-"}


class Command(BaseCommand):
    help = (
        "Export the address settings, as JSON or for an Artemis' broker.xml; or import"
        " them from either: shows what would change, and does it with --apply, all in"
        " one transaction. What changed holds from the next message on."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        deeds = parser.add_subparsers(dest="deed", required=True)
        out = deeds.add_parser("export", help="write the settings to standard output")
        out.add_argument("--format", choices=FORMATS, default="json")
        into = deeds.add_parser("import", help="show what a document would change")
        into.add_argument("file", help="JSON or XML; - is standard input")
        into.add_argument(
            "--mode",
            choices=MODES,
            default="merge",
            help="replace also removes settings not in the document (default: merge)",
        )
        into.add_argument("--apply", action="store_true", help="apply the changes")

    def handle(self, *, deed: str, **options: Any) -> None:
        if deed == "export":
            self.export(options["format"])
        else:
            self.take_over(options["file"], options["mode"], does=options["apply"])

    def export(self, form: str) -> None:
        settings = list(AddressSetting.objects.all())
        self.stdout.write(FORMATS[form](settings), ending="")
        if form == "xml":
            for match, field in artemis_xml.unknown(settings):
                self.stderr.write(f"{match}: Artemis has no {field}; it is a comment.")

    def take_over(self, file: str, mode: Mode, *, does: bool) -> None:
        try:
            document = read(content_of(file))
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        except WrongSettings as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        done = apply(document, mode) if does else preview(document, mode)
        self.write_changes(done)
        for one in done.warnings:
            self.stderr.write(self.style.WARNING(str(one)))
        words = ", ".join(f"{count} {deed}" for deed, count in done.counts.items())
        if does:
            self.stdout.write(self.style.SUCCESS(f"Done: {words}."))
        elif done.changes_anything:
            self.stdout.write(
                f"{words}. Nothing is done yet; use --apply to apply them."
            )
        else:
            self.stdout.write(f"{words}. There is nothing to do.")

    def write_changes(self, found: ImportPreview) -> None:
        for change in found.changes:
            if change.deed != "unchanged":
                self.write_change(change)
        for one in found.left_out:
            words = f"Left out, or to be checked: {one}"
            self.stderr.write(self.style.WARNING(words))

    def write_change(self, change: SettingChange) -> None:
        self.stdout.write(f"{SIGNS[change.deed]} {change.match}")
        for one in change.differences:
            before = "not defined" if one.before is None else repr(one.before)
            after = "not defined" if one.after is None else repr(one.after)
            self.stdout.write(f"    {one.field}: {before} → {after}")


def content_of(file: str) -> bytes:
    """A document as bytes. Of a document above the limit, one byte more than the limit
    is read."""
    if file == "-":
        return sys.stdin.buffer.read(LARGEST_BYTES + 1)
    with Path(file).open("rb") as source:
        return source.read(LARGEST_BYTES + 1)
