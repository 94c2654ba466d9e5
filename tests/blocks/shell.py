"""Lines for a shell, as a reader would type them in the folder of the project."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Callable
from io import StringIO
from urllib.parse import urlsplit
from uuid import uuid4

from django.core.management import call_command, get_commands, load_command_class

from tests.blocks.left_out import SERVING, WORDS
from tests.blocks.place import Place
from tests.blocks.reading import joined
from tests.console.commanding import run

VARIABLE = re.compile(r"^\w+=")
PYTHON = {"python", "python3", ".venv/bin/python"}


def run_lines(text: str, place: Place) -> None:
    """
    Raises:
        AssertionError: a line begins with a word that is neither run nor left out.
    """
    for line in joined(text):
        for part in line.split(" && "):
            words = [one for one in shlex.split(part, comments=True) if one != "-m"]
            while words and (VARIABLE.match(words[0]) or words[0] in PYTHON):
                words.pop(0)
            if words:
                run_words(words, place)


def run_words(words: list[str], place: Place) -> None:
    first, *rest = words
    runner = RUNNERS.get(first)
    if runner is not None:
        runner(rest, place)
    else:
        name = first.rpartition("/")[2].partition(".")[0]
        assert name in WORDS, f"{first} is neither run nor left out"


def manage(words: list[str], place: Place) -> None:
    name, *rest = words
    if {name, f"{name} {(rest or [''])[0]}"} & SERVING:
        take_options(name, rest)
    elif name == "backout":
        place.said.append(run(*rest))
    else:
        out = StringIO()
        call_command(name, *rest, stdout=out, stderr=StringIO())
        place.said.append(out.getvalue())


def take_options(name: str, words: list[str]) -> None:
    """Read them as the command would; test_pages does so for ``backout``."""
    if name in ("backout", "with_servers"):
        return
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(words)


def ask(words: list[str], place: Place) -> None:
    """``curl``, to the console of the test."""
    parser = ArgumentParser()
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-d", default="")
    parser.add_argument("url")
    sent = words[: words.index(">")] if ">" in words else words
    given = parser.parse_args([filled(one, place) for one in sent])
    headers = dict(one.split(": ", 1) for one in given.H)
    headers.pop("Content-Type", None)
    path = urlsplit(given.url).path
    place.ask("POST" if given.d else "GET", path, given.d, **headers)


def filled(word: str, place: Place) -> str:
    word = word.replace("$(uuidgen)", str(uuid4()))
    return re.sub(r"\$(\w+)", lambda found: place.shell[found[1]], word)


def execute(words: list[str], place: Place) -> None:
    place.execute(words[0])


RUNNERS: dict[str, Callable[[list[str], Place], None]] = {
    "manage.py": manage,
    "backout": lambda words, place: manage(["backout", *words], place),
    "curl": ask,
    "-c": execute,
}
