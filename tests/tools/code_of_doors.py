"""How much code is written by hand for each door, and what else an act replaces.

    .venv/bin/python -m tests.tools.code_of_doors

Lines are those of ``lines_of_code``. A class is a schema of ninja if one of its bases
is, by name, at whatever distance.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.tools.lines_of_code import PACKAGES, ROOT, lines_of_code

DOORS = ("pages", "api", "cli", "edges")


def door_of(path: Path) -> str:
    """The door whose code a module of the console is; empty if it is of none."""
    parts = path.relative_to(ROOT / "console").with_suffix("").parts
    return next((part for part in parts if part in DOORS), "")


def bases() -> Iterator[tuple[str, set[str]]]:
    """Each class with the names of its bases."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    yield node.name, {name_of(base) for base in node.bases}


def name_of(base: ast.expr) -> str:
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return name_of(value)
    return ""


def below(root: str, classes: Mapping[str, set[str]]) -> set[str]:
    """The classes that inherit from one, directly or not."""
    found, last = {root}, 0
    while len(found) > last:
        last = len(found)
        found |= {name for name, above in classes.items() if above & found}
    return found - {root}


def main() -> None:
    lines: Counter[str] = Counter()
    for path in (ROOT / "console").rglob("*.py"):
        if door := door_of(path):
            lines[door] += lines_of_code(path.read_text())
    for door in DOORS:
        print(f"{lines[door]:7,}  lines of code of {door}")
    print(f"{lines['api'] + lines['cli']:7,}  lines of code of api and cli")
    classes = dict(bases())
    print(f"{len(below('Schema', classes)):7,}  classes that are schemas of ninja")
    print(f"{len(below('Protocol', classes)):7,}  classes that are protocols")


if __name__ == "__main__":
    main()
