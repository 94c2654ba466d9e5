"""The demonstration as a user starts it: soon no page of the menu is empty."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.console.browsing import opened
from tests.console.ports import kept_port
from tests.console.until import until

pytestmark = [pytest.mark.long, pytest.mark.browser]
LONGEST_S = 400
WELL = {"/health/"}  # it says that nothing is to do


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Its address, and what it has said so far."""
    log = tmp_path / "log"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL")
    }
    with kept_port() as port, log.open("w") as output:
        launcher = subprocess.Popen(
            [sys.executable, "manage.py", "run", "--demo"],
            cwd=settings.BASE_DIR,
            env=environment | {"BACKOUT_VAR": str(tmp_path / "var"), "PORT": str(port)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        yield f"http://127.0.0.1:{port}", log.read_text
        launcher.terminate()
        launcher.wait(60)


def test_no_page_of_the_menu_is_empty(demo: tuple[str, Callable[[], str]]) -> None:
    site, said = demo
    until(lambda: "Backout is running" in said(), LONGEST_S)
    found = re.search(r"admin, with the password (\S+)", said())
    assert found
    with opened(site) as page:
        page.goto("/")
        page.get_by_label("Username").fill("admin")
        page.get_by_label("Password").fill(found[1])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        links = page.locator("nav a[href^='/']").evaluate_all(
            "all => [...new Set(all.map(one => one.getAttribute('href')))]"
        )
        assert len(links) > 15
        for path in links:
            if path not in WELL:
                until(lambda path=path: is_filled(page, path), LONGEST_S)  # type: ignore[misc]


def is_filled(page: Page, path: str) -> bool:
    page.goto(path)
    return page.locator("main .empty").count() == 0
