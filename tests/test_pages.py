"""What a reader may paste from a page is read by what it is for: shells, Python, JSON,
TOML, the command line, REST. ``test_blocks`` runs what can be run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from django.core.management import load_command_class

from console.api import api
from tests.blocks.reading import CALL, PAGES, blocks, joined

ASKED = re.compile(r"\b(GET|PUT|POST|PATCH|DELETE) (/api/v1/[^\s`?]+)")
OURS = re.compile(
    r"(?:^|\s|/)(?:python |python3 )?manage\.py backout +(.+)|^backout +(.+)"
)
MODULE = re.compile(r"python3? -m (tests[\w.]*)")
NOT_SHELL = (
    "work  ",  # a table of figures
    *("{", "@", "def ", '"', "*", "("),
    *("patch =", "rename.", "when.", "ALTER ROLE"),
)
named = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def lines(page: Path) -> list[str]:
    """The lines of blocks without a language; continued ones are joined."""
    return joined("\n".join(text for kind, text in blocks(page) if not kind))


def is_for_a_shell(kind: str, text: str) -> bool:
    first = text.lstrip()
    if kind or CALL.search(text) or first.startswith(NOT_SHELL):
        return False
    return bool(re.match(r"[\w./$-]+(=\S+)?( |$)", first))


@named
def test_each_block_is_well_formed(page: Path) -> None:
    for kind, text in blocks(page):
        if kind in ("python", "py"):
            compile(text, page.name, "exec")
        elif kind == "toml":
            tomllib.loads(text)
        elif kind == "json":
            json.loads(text)
        elif is_for_a_shell(kind, text):
            checked = subprocess.run(
                ["bash", "-n"], input=text, text=True, capture_output=True, check=False
            )
            assert checked.returncode == 0, (text, checked.stderr)


@cache
def root() -> Any:
    command: Any = load_command_class("console", "backout")
    return typer.main.get_command(command.typer_app)


@named
def test_each_command_line_names_commands_and_options_that_exist(page: Path) -> None:
    for line in lines(page):
        found = OURS.search(re.split(r"\s#\s", line)[0])
        if found is None or "…" in line:
            continue
        words = shlex.split(
            (found[1] or found[2]).partition(" > ")[0].partition(" | ")[0]
        )
        command = root()
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not getattr(command, "commands", {}), f"{line}: no such command"
        known = {
            option
            for one in command.params
            for option in (*one.opts, *one.secondary_opts)
        }
        asked = {
            word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)
        }
        assert asked <= known, f"{line}: {asked - known}"


@named
def test_each_module_that_is_to_be_run_exists(page: Path) -> None:
    for name in MODULE.findall(page.read_text()):
        assert find_spec(name), name


@cache
def operations() -> list[tuple[str, re.Pattern[str]]]:
    """Method and path of each operation of the REST interface."""
    return [
        (method.upper(), re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)))
        for path, item in api.get_openapi_schema()["paths"].items()
        for method in item
    ]


@named
def test_each_request_that_is_named_has_its_operation(page: Path) -> None:
    for method, path in ASKED.findall(page.read_text()):
        wanted = path.rstrip(".,;:)")
        matching = [m for m, pattern in operations() if pattern.fullmatch(wanted)]
        assert method in matching, f"{method} {wanted}: {matching}"
