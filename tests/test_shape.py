"""The shape of the tree: what is too long, misnamed, or silent about itself.

A length is no aim; the medians are far below. These are the ends, where a file, a
function or a page has become two.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
APPS = ("broker", "console", "dashboards")

MODULES_OF_A_FOLDER = 25
LINES_OF_A_FILE = 350
LINES_OF_ONE_CLASS = 450  # a file of one class that is one thing
PART_OF_ONE_CLASS = 2 / 3  # of the lines of such a file
LINES_OF_A_FUNCTION = 60
LINES_OF_A_STATEMENT = 60  # without its comments
# One round trip is worth more than a short text: these do a whole step of a message's
# life, for a batch, and what they return depends on all of it.
WHOLE_STEPS = {
    "broker/sql/queueing/copy.sql": 140,
    "broker/sql/queueing/copy_one.sql": 100,
    "broker/sql/queueing/get.sql": 90,
    "broker/sql/queueing/get_each.sql": 75,
    "broker/sql/queueing/put.sql": 70,
    "broker/sql/queueing/put_back.sql": 75,
    "broker/sql/schema.sql": 295,
    "broker/sql/settlement/settle_many.sql": 90,
}
LINES_OF_A_PARTIAL = 40
LINES_OF_A_PAGE = 80

NAMES_THAT_SAY_NOTHING = {
    "base", "common", "core", "helpers", "managers", "misc", "services", "utils",
}  # fmt: skip
NAMES_OF_DJANGO = {"Command", "Migration"}
PLACES_ON_ONE_MACHINE = re.compile(r"[/](tmp|work|farm)/")
TEXT = {".css", ".html", ".js", ".md", ".py", ".sql", ".toml", ".txt", ".yaml", ".yml"}


def test_packages_hold_what_their_names_say_and_no_more() -> None:
    """Beside packages are only modules that Django, Celery, a server, acts or kinds of
    objects need."""
    assert beside("broker") == {"apps", "checks", "tasks"}
    assert beside("console") == {
        *("admin", "api", "apps", "asgi", "celery", "cli", "conditions", "models"),
        *("settings", "settings_signing_in", "urls", "wsgi"),
    }
    assert beside("dashboards") == {
        *("acts", "admin", "apps", "conditions", "duties", "kinds", "models"),
        *("routing", "tasks", "urls"),
    }


def beside(package: str) -> set[str]:
    return {path.stem for path in (TREE / package).glob("*.py")} - {"__init__"}


def test_folders_hold_few_modules() -> None:
    folders = Counter(
        str(path.parent.relative_to(TREE))
        for app in APPS
        for path in files(app, ".py")
        if path.stem != "__init__" and "migrations" not in path.parts
    )
    assert {one: n for one, n in folders.items() if n > MODULES_OF_A_FOLDER} == {}


def test_files_are_short() -> None:
    written = [path for path in modules() if "migrations" not in path.parts]
    others = [path for path in written if not is_one_class(path)]
    assert too_long(others, LINES_OF_A_FILE) == []
    assert too_long(written, LINES_OF_ONE_CLASS) == []


def test_functions_are_short() -> None:
    long = [
        f"{name(path)}:{node.lineno} {node.name} has {length(node)} lines"
        for path in modules()
        if len(text(path).splitlines()) > LINES_OF_A_FUNCTION
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and length(node) > LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_statements_are_short_and_say_what_they_are_for() -> None:
    long = [
        f"{name(path)} has {lines} lines"
        for path in statements()
        if (lines := len(re.findall(r"^(?!\s*--).", text(path), re.M)))
        > WHOLE_STEPS.get(name(path), LINES_OF_A_STATEMENT)
    ]
    silent = [name(path) for path in statements() if not text(path).startswith("-- ")]
    assert long == []
    assert silent == []


def test_templates_are_short() -> None:
    pages = files("templates", ".html")
    partials = [page for page in pages if page.name.startswith("_")]
    assert too_long(partials, LINES_OF_A_PARTIAL) == []
    assert too_long(pages, LINES_OF_A_PAGE) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {
        (name(path), part)
        for path in modules()
        for part in path.relative_to(TREE).with_suffix("").parts
        if part in NAMES_THAT_SAY_NOTHING
    }
    assert parts == set()


def test_modules_say_what_they_are() -> None:
    silent = [
        name(path)
        for path in modules()
        if path.name != "apps.py"
        and "migrations" not in path.parts
        and text(path).strip()
        and not text(path).startswith('"""')
    ]
    assert silent == []


def test_no_class_name_stands_in_three_modules() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in (one for app in APPS for one in files(app, ".py")):
        for node in ast.parse(text(path)).body:
            if isinstance(node, ast.ClassDef) and node.name not in NAMES_OF_DJANGO:
                found[node.name].add(name(path))

    assert {one: where for one, where in found.items() if len(where) > 2} == {}


def test_nothing_is_written_for_one_machine() -> None:
    tied = [
        f"{name(path)}:{number}"
        for path in everything()
        for number, line in enumerate(text(path).splitlines(), 1)
        if PLACES_ON_ONE_MACHINE.search(line)
    ]
    assert tied == []


def modules() -> list[Path]:
    return [path for folder in (*APPS, "tests") for path in files(folder, ".py")]


def statements() -> list[Path]:
    return [path for app in APPS for path in files(f"{app}/sql", ".sql")]


def everything() -> Iterator[Path]:
    yield from (path for path in TREE.iterdir() if path.suffix in TEXT)
    for folder in (*APPS, "docs", "static", "templates", "tests"):
        yield from (path for path in files(folder) if path.suffix in TEXT)


def files(folder: str, suffix: str = "") -> list[Path]:
    return sorted(
        path
        for path in (TREE / folder).rglob(f"*{suffix}")
        if path.is_file() and "vendor" not in path.parts
    )


def is_one_class(path: Path) -> bool:
    """Whether a file is one class with little beside it."""
    classes = [
        one for one in ast.parse(text(path)).body if isinstance(one, ast.ClassDef)
    ]
    lines = len(text(path).splitlines())
    return len(classes) == 1 and length(classes[0]) > PART_OF_ONE_CLASS * lines


def too_long(paths: list[Path], most: int) -> list[str]:
    lengths = ((name(path), len(text(path).splitlines())) for path in paths)
    return [f"{path} has {lines} lines" for path, lines in lengths if lines > most]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def name(path: Path) -> str:
    return str(path.relative_to(TREE))


@cache
def text(path: Path) -> str:
    return path.read_text()
