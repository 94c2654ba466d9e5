"""Words that say nothing in messaging name no function, class or module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
APPS = ("broker", "console", "dashboards")
PRIVATE = {
    *("told", "said", "seen", "shown", "kept", "asked", "wanted", "people", "telling"),
    *("deed", "deeds", "works", "fate", "fates", "aftermath"),
    *("course", "courses", "trial"),
}
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def test_names_are_made_of_the_words_of_the_field() -> None:
    found = {
        f"{path.relative_to(TREE)}: {name}"
        for path, name in names()
        if PRIVATE & {one.lower() for one in WORD.findall(name)}
    }
    assert found == set()


def names() -> Iterator[tuple[Path, str]]:
    """Modules, classes and functions, each with its file."""
    for app in APPS:
        for path in sorted((TREE / app).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            yield path, path.stem
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(
                    node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
                ):
                    yield path, node.name
