"""Seeds defects that are drawn by a seed, to see which run of the tests catches them.

A comparison is turned, a number is one more, a call is left out … in a copy of the
project. The tests that are nearest to the file then run until one fails: first those of
``make test``, then those that only ``make test-all`` has. Nearest are the tests that
import the file's module, then those of its subject, then those that import what
imports it. So a defect that is told as missed may still be caught by other tests.

    manage.py with_servers python -m tests.tools.drawn_defects [FIRST-LAST [SEED]]
"""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("broker", "console", "dashboards")
NUMBER, SEED = 120, 20261129
MOST_FILES = 40  # of tests for one defect
LONGEST_S = 400  # of one run
SHORT, THOROUGH = "not long and not thorough", "thorough and not long"
FAILED, NOTHING_CHOSEN = 1, 5  # as pytest exits
OPTIONS = ("-q", "-x", "--reuse-db", "-p", "no:cacheprovider", "--no-header")
TURNED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=",
    ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in",
    ast.NotIn: "in",
}  # fmt: skip


@dataclass(frozen=True)
class Defect:
    """A part of a file, by its lines and columns, and what stands there instead."""

    file: Path
    line: int
    part: str
    text: str
    content: str  # of the whole file, with the defect

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.part!r} -> {self.text!r}"


class Source:
    """A Python file, and the defects that it can have."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = (ROOT / file).read_text()
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for line in self.text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def defects(self) -> Iterator[Defect]:
        for function in ast.walk(self.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in function.body:
                    for node in ast.walk(statement):
                        yield from self.of(node)

    def of(self, node: ast.AST) -> Iterator[Defect]:
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield self.instead(test, f"(not ({self.part(test)}))")
            case ast.Return(value=ast.expr() as value) if not is_none(value):
                yield self.instead(value, "None")
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self.instead(node, "pass")
            case ast.expr() if (text := self.turned(node)) is not None:
                yield self.instead(node, text)

    def turned(self, node: ast.expr) -> str | None:
        """Another expression in place of one, of the same type."""
        text: str | None = None
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                text = f"({self.part(left)}) {TURNED[type(op)]} ({self.part(right)})"
            case ast.BoolOp(op=op, values=values):
                word = " or " if isinstance(op, ast.And) else " and "
                text = f"({word.join(f'({self.part(one)})' for one in values)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                text = f"bool({self.part(operand)})"
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                text = f"({self.part(left)} - {self.part(right)})"
            case ast.Constant(value=bool(value)):
                text = str(not value)
            case ast.Constant(value=int(value)):
                text = str(value + 1)
        return text

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset

    def part(self, node: ast.stmt | ast.expr) -> str:
        begin, end = self.span(node)
        return self.text.encode()[begin:end].decode()

    def instead(self, node: ast.stmt | ast.expr, text: str) -> Defect:
        begin, end = self.span(node)
        content = self.text.encode()
        changed = content[:begin] + text.encode() + content[end:]
        part = self.part(node)
        return Defect(self.file, node.lineno, part, text, changed.decode())


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def modules(*folders: str) -> list[Path]:
    return sorted(
        path.relative_to(ROOT)
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    )


def drawn(seed: int) -> list[Defect]:
    """The defects of a seed: a file is drawn for each, then a place in it."""
    chance = random.Random(seed)
    sources = [Source(file) for file in modules(*APPS)]
    weights = [source.text.count("\n") for source in sources]
    found: list[Defect] = []
    while len(found) < NUMBER:
        (source,) = chance.choices(sources, weights)
        if defects := list(source.defects()):
            one = chance.choice(defects)
            if not any(one.content == other.content for other in found):
                found.append(one)
    return found


class Nearest:
    """Which files of tests are nearest to a module, by what imports what."""

    def __init__(self) -> None:
        self.importers: dict[str, set[Path]] = defaultdict(set)
        for file in modules(*APPS, "tests"):
            for name in imported(file):
                self.importers[name].add(file)

    def to(self, file: Path) -> list[str]:
        package = name_of(file).rpartition(".")[0]
        by = self.importers[name_of(file)] | {
            one
            for name in defined(file)  # a package passes on what its modules define
            for one in self.importers[f"{package}.{name}"]
        }
        second = {other for one in by for other in self.importers[name_of(one)]}
        third = {other for one in second for other in self.importers[name_of(one)]}
        ordered: dict[Path, None] = {}
        for files in (by, of_subject(file), second, third, of_app(file)):
            ordered.update(dict.fromkeys(sorted(filter(is_test, files))))
        return [str(one) for one in ordered][:MOST_FILES]


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def defined(file: Path) -> Iterator[str]:
    """The names of the classes and functions of a module."""
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def name_of(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def is_test(file: Path) -> bool:
    return file.name.startswith("test_")


def of_subject(file: Path) -> list[Path]:
    """The tests in the folder of the same name, if there is one."""
    parts = file.parts[:-1]
    if parts[:2] == ("broker", "amqp"):
        parts = parts[1:]
    while parts and not (ROOT / "tests").joinpath(*parts).is_dir():
        parts = parts[:-1]
    return modules(str(Path("tests", *parts))) if len(parts) > 1 else []


def of_app(file: Path) -> list[Path]:
    return modules(f"tests/{file.parts[0]}")


def outcome(defect: Defect, tests: list[str]) -> str:
    """Which run catches a defect: ``short``, ``thorough`` or ``neither``."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "var"))
        (copy / defect.file).write_text(defect.content)
        for name, chosen in (("short", SHORT), ("thorough", THOROUGH)):
            for some in (tests[begin : begin + 8] for begin in range(0, len(tests), 8)):
                if run(copy, chosen, some):
                    return name
    return "neither"


def run(copy: Path, chosen: str, tests: list[str]) -> bool:
    """Whether a test fails; one that hangs has failed, too."""
    command = (sys.executable, "-m", "pytest", *OPTIONS, "-m", chosen, *tests)
    try:
        ended = subprocess.run(
            command, cwd=copy, capture_output=True, text=True, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired as error:
        return "F" in last_line(error.stdout)
    return ended.returncode not in (0, NOTHING_CHOSEN)


def last_line(output: bytes | str | None) -> str:
    text = output.decode() if isinstance(output, bytes) else output or ""
    found: list[str] = re.findall(r"[.FEsx]+", text)
    return found[-1] if found else ""


def main(part: str = f"1-{NUMBER}", seed: str = str(SEED)) -> int:
    first, last = map(int, part.split("-"))
    nearest, caught = Nearest(), defaultdict[str, int](int)
    for number, defect in enumerate(drawn(int(seed)), 1):
        if first <= number <= last:
            began = time.monotonic()
            found = outcome(defect, nearest.to(defect.file))
            caught[found] += 1
            took = time.monotonic() - began
            print(f"{number:>4} {found:>8} {took:>4.0f} s  {defect}", flush=True)
    print(dict(caught))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
