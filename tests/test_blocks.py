"""Each block of a page that a reader would paste does what it is for.

The blocks of a page run one after the other, with what the page takes to be there. What
is not run here is in ``tests/blocks/left_out.py``, with the test that runs it or the
reason. A block that is neither fails.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.test import Client
from pytest_django import Settings

from broker.bridges.transformers import registry
from broker.client.dispatch import handlers
from dashboards import reports
from tests.blocks import left_out
from tests.blocks.made import MADE
from tests.blocks.own import OWN
from tests.blocks.place import Place
from tests.blocks.reading import CALL, PAGES, blocks
from tests.blocks.shell import run_lines
from tests.console.commanding import run
from tests.test_docs import named_by

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(
    tmp_path: Path,
    admin_client: Client,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """What blocks register is forgotten; what they write is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for where in (handlers, registry, reports):
        where.discover()
    monkeypatch.setattr(handlers, "HANDLERS", {})
    monkeypatch.setattr(registry, "TRANSFORMERS", registry.TRANSFORMERS.copy())
    monkeypatch.setattr(reports, "REPORTS", reports.REPORTS.copy())
    module = ModuleType("pasted")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Place(tmp_path, admin_client, settings, module)


@pytest.mark.parametrize("page", [one for one in PAGES if blocks(PAGES[one])])
def test_the_blocks_of_a_page_run(page: str, place: Place) -> None:
    if page in MADE:
        MADE[page](place)
    for kind, text in blocks(PAGES[page]):
        if not is_left_out(page, kind, text):
            run_block(page, kind, text, place)


def is_left_out(page: str, kind: str, text: str) -> bool:
    return (
        page in (*left_out.PAGES, left_out.PRINTED)
        or page.startswith(left_out.GUIDES)
        or kind in left_out.KINDS
        or any(map(text.startswith, left_out.BLOCKS.get(page, ())))
    )


def run_block(page: str, kind: str, text: str, place: Place) -> None:
    own = [run for begins, run in OWN.get(page, {}).items() if text.startswith(begins)]
    if own:
        own[0](text, place)
    elif kind in ("python", "py"):
        place.execute(text)
    elif kind == "toml":
        file = place.folder / "backout.toml"
        file.write_text(text)
        run("apply", file, "--yes")
    elif kind:
        pytest.fail(f"{page} has a block of the language {kind}, which nothing runs")
    elif calls := CALL.findall(text):
        for method, path, body in calls:
            place.ask(method, path, body)
    else:
        run_lines(text, place)


def test_what_is_left_out_is_there_and_its_tests_exist() -> None:
    tests = [*left_out.PAGES.values(), left_out.OF_GUIDES]
    for page, named in left_out.BLOCKS.items():
        tests += named.values()
        assert {one: begin(page, one) for one in named} == dict.fromkeys(named, 1)
    for page, own in OWN.items():
        assert [one for one in own if not begin(page, one)] == []
    for test in tests:
        assert named_by(f"`{test}`"), test


def begin(page: str, words: str) -> int:
    """How many blocks of a page do."""
    return sum(text.startswith(words) for _, text in blocks(PAGES[page]))


def test_pages_that_others_run_have_no_block_that_these_do_not_know() -> None:
    for page, path in PAGES.items():
        kinds = {kind for kind, _ in blocks(path)} - left_out.KINDS.keys()
        if page == left_out.PRINTED:
            assert kinds == {""}
        elif page in left_out.PAGES or page.startswith(left_out.GUIDES):
            assert kinds <= {"", "python", "py", "toml", "mqsc"}, page


@pytest.mark.parametrize(
    ("kind", "text"),
    [("xml", "<queues/>"), ("", "amqsput orders\n"), ("python", "put('orders')")],
)
def test_a_block_that_nothing_runs_or_that_is_wrong_fails(
    kind: str, text: str, place: Place
) -> None:
    with pytest.raises((pytest.fail.Exception, AssertionError, NameError)):
        run_block("README.md", kind, text, place)
