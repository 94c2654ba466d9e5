"""The documents say what is true: what they name, packages and commands, exists."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*TREE.glob("*.md"), *TREE.glob("docs/**/*.md")])
DJANGOS = {  # commands
    *("check", "collectstatic", "createsuperuser", "makemigrations", "migrate"),
    *("dumpdata", "flush", "shell", "startapp"),
}
FOLDERS = "broker|console|dashboards|deploy|docs|static|templates|tests"


def read(path: str) -> str:
    return (TREE / path).read_text()


def pins(*files: str) -> set[tuple[str, str]]:
    """Name and version of each package that these files pin."""
    found = (path.read_text() for one in files for path in TREE.glob(one))
    return set(re.findall(r"^([\w.\-\[\],]+)==(\S+)", "\n".join(found), re.M))


def direct_packages() -> set[str]:
    """What the project itself chose: Python's packages and the browser's."""
    vendored = json.loads(read("static/vendor/MANIFEST.json"))
    checker = json.loads(read("tests/tools/axe/package.json"))
    clients = json.loads(read("tests/amqp/clients/rhea/package.json"))
    browser = json.loads(read("tests/tools/chromium/package.json"))
    return {
        *(name for name, _ in pins("requirements*.in", "requirements-compiled.txt")),
        *(one["package"] for one in vendored.values()),
        *checker["dependencies"],
        *clients["dependencies"],
        *browser["dependencies"],
    }


def test_each_direct_dependency_has_its_reason() -> None:
    explained = re.findall(r"\*\*([\w.\-\[\],@/]+)\*\*", read("docs/dependencies.md"))
    assert sorted(explained) == sorted(direct_packages())


def test_what_is_installed_has_the_versions_we_chose_and_a_hash_for_each() -> None:
    assert plain(pins("requirements*.in")) <= plain(pins("requirements*.txt"))
    for path in TREE.glob("requirements*.txt"):
        lines = re.sub(r"\s*\\\n\s*", " ", path.read_text()).splitlines()
        packages = [
            line for line in lines if line and not line.lstrip().startswith("#")
        ]
        assert packages
        hashed = r"[\w.\-\[\],]+==\S+( ; [^#]+)?( --hash=sha256:[0-9a-f]{64})+"
        assert [line for line in packages if not re.fullmatch(hashed, line)] == []


def plain(pinned: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Names as the index compares them, without extras."""
    return {
        (re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower(), version)
        for name, version in pinned
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_make_target_that_is_named_exists(document: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    named = re.findall(r"(?:^|`)make ([a-z][\w-]*)", document.read_text(), re.M)
    assert set(named) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_link_within_the_project_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_index_of_the_documentation_leads_to_each_page() -> None:
    pages = {str(one.relative_to(TREE / "docs")) for one in TREE.glob("docs/**/*.md")}
    linked = re.findall(r"\]\(([\w/.-]+\.md)", read("docs/index.md"))
    assert pages - set(linked) == {"index.md"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_file_that_is_named_exists(document: Path) -> None:
    named = re.findall(rf"`((?:{FOLDERS})/[\w.\-/]*)`", document.read_text())
    assert [name for name in named if not (TREE / name).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_management_command_that_is_named_exists(document: Path) -> None:
    named = set(re.findall(r"manage\.py (\w+)", document.read_text()))
    ours = {path.stem for path in TREE.glob("*/management/commands/*.py")}
    assert named <= ours | DJANGOS


def test_each_want_of_an_operator_has_tests_that_exist() -> None:
    wants = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", read("docs/wants.md"), re.M)
    assert [int(number) for number, _ in wants] == list(range(1, 41))
    for number, shown in wants:
        assert named_by(shown), f"{number} names no test"


def test_each_feature_has_its_state_and_tests_that_exist() -> None:
    text = read("docs/features.md")
    features = re.findall(
        r"^\| (\d+) \| [^|]+ \| ([a-z ]+) \| ([^|]+) \| ([^|]+) \|$", text, re.M
    )
    assert [int(number) for number, *_ in features] == list(range(1, 134))
    for number, state, answer, shown in features:
        named = named_by(shown)
        assert named or state != "done", f"{number} names no test"
        assert named or shown == "–", number
        assert state != "missing" or not named, f"{number} is shown by a test"
        assert ("missing: " in answer) == (state == "in part"), number
    counts = Counter(state for _, state, *_ in features)
    done, part, missing = (counts.pop(one) for one in ("done", "in part", "missing"))
    assert not counts
    said = f"in 133 rows: {done} are done, {part} in part, and {missing} missing."
    assert said in " ".join(text.split())


def named_by(shown: str) -> list[str]:
    """The tests that a cell of a table names; each exists."""
    named = re.findall(r"`([\w/]+)::(\w+)`", shown)
    for file, test in named:
        folder, _, stem = file.rpartition("/")
        text = read(f"tests/{folder}/test_{stem}.py")
        assert re.search(rf"^(async )?(def test_|class ){test}\b", text, re.M), test
    return [test for _, test in named]


def test_decisions_are_numbered_without_gaps_and_have_their_headings() -> None:
    decisions = sorted((TREE / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name.partition("-")[0]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    for decision in decisions:
        headings = re.findall(r"^## (.+)$", decision.read_text(), re.M)
        assert headings == [
            "Question",
            "Decision",
            "Why",
            "What else was tried",
            "What would change our mind",
        ], decision.name


def test_programs_import_from_the_public_package_alone() -> None:
    imported = re.findall(r"^from (broker\S*) import", read("README.md"), re.M)
    assert set(imported) == {"broker.client"}
    handlers = read("console/demo/handlers.py")
    assert re.findall(r"^from (broker\S*) import", handlers, re.M) == ["broker.client"]
