"""``backout init``: adds Backout to the files of a Django project, and shows how.

It needs no application to be installed: ``backout init`` beside ``manage.py``. What the
project has already is left as it is, so that a second call changes nothing.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

HELP = "add Backout to settings.py, urls.py and asgi.py; shows the changes first"
NAMES = ("broker", "console", "dashboards")
BROKER = ("django.contrib.postgres", "broker")
CONSOLE = ("django.contrib.postgres", "console", "dashboards", "broker")
MIDDLEWARE = "console.integration.middleware.ConsoleMiddleware"
FRAME = "console.home.frame.frame"
POSTGRESQL = "django.db.backends.postgresql"
NO_MANAGE = "There is no manage.py in {}. Change to the folder of your project."
NO_SETTINGS = "{} does not say which settings it uses. Set DJANGO_SETTINGS_MODULE."
TAKEN = (
    "Your project has a package named {name} ({place}). Backout's has the same name,"
    " and Python can load one of them only: rename yours first."
)
NEXT_DATABASE = (
    "The database is {engine}; Backout needs PostgreSQL 15 or later: change DATABASES."
)
NEXT = "Next: python manage.py migrate; python manage.py backout run"


@dataclass(frozen=True, slots=True)
class Change:
    """A file with its text before and after."""

    path: Path
    before: str
    after: str

    def unified_diff(self, folder: Path) -> str:
        """The unified diff."""
        name = str(self.path.relative_to(folder))
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{name}",
            f"b/{name}",
        )
        return "".join(lines)


def main() -> None:
    """The program ``backout``: ``init`` here, all else by the project's manage.py."""
    _, *arguments = sys.argv
    manage = Path("manage.py")
    if arguments[:1] != ["init"] and manage.exists():
        command = [sys.executable, str(manage), "backout", *arguments]
        sys.exit(subprocess.run(command, check=False).returncode)  # noqa: S603
    parser = ArgumentParser(prog="backout", description=HELP)
    add_arguments(parser.add_subparsers(required=True).add_parser("init", help=HELP))
    try:
        handle(**vars(parser.parse_args(arguments)))
    except CommandError as refusal:
        sys.exit(str(refusal))


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--prefix", default="ops/", help="of the console's pages")
    parser.add_argument(
        "--broker-only", action="store_true", help="without the console"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def handle(*, prefix: str, broker_only: bool, yes: bool, **_: object) -> None:
    """Show the changes, ask, and make them.

    Raises:
        CommandError: this is no project, or it cannot have Backout.
    """
    folder = Path.cwd()
    project = settings_of(folder)
    refuse_taken_names(folder)
    found = list(changes(project, None if broker_only else f"{prefix.strip('/')}/"))
    if not found:
        say("There is nothing to change.")
        return
    for one in found:
        say(one.unified_diff(folder))
    if not yes and input("Make these changes? [y/N] ").strip().lower() != "y":
        say("Nothing was changed.")
        return
    for one in found:
        one.path.write_text(one.after)
    engine = project.DATABASES.get("default", {}).get("ENGINE", "not set")
    if engine != POSTGRESQL:
        say(NEXT_DATABASE.format(engine=engine))
    say(NEXT)


def settings_of(folder: Path) -> Any:
    """The project's settings, and its module names; they are read, nothing is set up.

    Raises:
        CommandError: there is no project.
    """
    manage = folder / "manage.py"
    if not manage.exists():
        raise CommandError(NO_MANAGE.format(folder))
    named = re.search(r"DJANGO_SETTINGS_MODULE\W+([\w.]+)", manage.read_text())
    if named:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", named[1])
    if "DJANGO_SETTINGS_MODULE" not in os.environ:
        raise CommandError(NO_SETTINGS.format(manage))
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    from django.conf import settings  # noqa: PLC0415  it reads the line above

    return settings


def refuse_taken_names(folder: Path) -> None:
    """
    Raises:
        CommandError: the project has a package of one of Backout's names.
    """
    ours = Path(__file__).resolve().parents[2]
    if folder == ours:
        return
    for name in NAMES:
        for place in (folder / name, folder / f"{name}.py"):
            if place.exists():
                raise CommandError(TAKEN.format(name=name, place=place))


def changes(project: Any, prefix: str | None) -> Iterator[Change]:
    """What the files lack.

    Args:
        project: its settings.
        prefix: of the console's pages, such as ``ops/``; None: without the console.
    """
    settings = source(os.environ["DJANGO_SETTINGS_MODULE"])
    yield from changed(settings, "", of_settings(project, prefix))
    if prefix is None:
        return
    urls = source(project.ROOT_URLCONF)
    if "console.urls" not in urls.read_text():
        line = f'urlpatterns += [path("{prefix}", include("console.urls"))]\n'
        yield from changed(urls, "from django.urls import include, path\n", [line])
    asgi = urls.with_name("asgi.py")
    if named := getattr(project, "ASGI_APPLICATION", None):
        asgi = source(named.rpartition(".")[0])
    if asgi.exists() and "with_sockets" not in asgi.read_text():
        lines = [
            "from console.integration.sockets import with_sockets  # noqa: E402\n",
            "\napplication = with_sockets(application)\n",
        ]
        yield from changed(asgi, "", lines)


def of_settings(project: Any, prefix: str | None) -> list[str]:
    """The lines that the settings lack."""
    lines = []
    wanted = BROKER if prefix is None else CONSOLE
    if missing := lacking(project.INSTALLED_APPS, wanted):
        # The console must come before the broker, so if the project has the broker, the
        # missing applications go first; otherwise they go last.
        has = [quoted(missing), "*INSTALLED_APPS"]
        if "broker" in missing:
            has.reverse()
        lines.append(f"INSTALLED_APPS = [{', '.join(has)}]\n")
    if prefix is None:
        return lines
    if missing := lacking(project.MIDDLEWARE, [MIDDLEWARE]):
        lines.append(f"MIDDLEWARE = [*MIDDLEWARE, {quoted(missing)}]\n")
    for place, engine in enumerate(project.TEMPLATES):
        known = engine.get("OPTIONS", {}).get("context_processors", [])
        if engine["BACKEND"].endswith(".DjangoTemplates") and lacking(known, [FRAME]):
            options = f'TEMPLATES[{place}]["OPTIONS"]["context_processors"]'
            lines.append(f'{options} += ["{FRAME}"]\n')
    return lines


def lacking(has: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted names that are missing; an application may also be named by its
    AppConfig class."""
    return [
        name
        for name in wanted
        if not any(one == name or one.startswith(f"{name}.apps.") for one in has)
    ]


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{one}"' for one in names)


def changed(path: Path, imports: str, lines: list[str]) -> Iterator[Change]:
    """The change of a file: lines at its end, and the imports that they need."""
    if not lines:
        return
    before = path.read_text()
    text = before
    plain = re.compile(r"^from django\.urls import path$", re.M)
    if imports and plain.search(text):
        text = plain.sub(imports.rstrip(), text, count=1)
    elif imports and imports not in text:
        lines = [imports, *lines]
    end = "" if text.endswith("\n") else "\n"
    yield Change(path, before, f"{text}{end}\n# Backout\n{''.join(lines)}")


def source(module: str) -> Path:
    """The file of a module of the project."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise CommandError(f"There is no file of {module} to change.")
    return Path(found.origin)


def say(text: str) -> None:
    sys.stdout.write(f"{text.rstrip()}\n")
