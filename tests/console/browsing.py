"""A real console, and a real browser that looks at it.

The programs are those of the Procfile, on the database of the tests. Nothing beats the
time for them: what housekeeping would do, a test asks for.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Response,
    expect,
    sync_playwright,
)

from console.runtime import launcher, socket_paths, supervisor
from console.runtime.supervisor import MARK, Program, SupervisedProgram, Terminal
from tests.console.ports import HOST, kept_port
from tests.console.until import until
from tests.tools import axe, chromium
from tests.tools.npm import NODE

# Longer than anything takes where much else goes on. Who waits sees it at once.
expect.set_options(timeout=60_000)

PROGRAMS = ("web", "worker")
APPLICATION = "console.asgi:application"
AXE = f"/{settings.STATIC_URL.strip('/')}/axe.min.js"
CUT_OFF = "net::ERR_ABORTED"  # by the page that came next
LONGEST_WALK = 60  # keys
MISSING = (
    "This test needs {0}, which is not here. Fetch it:"
    " .venv/bin/python -m tests.tools.chromium"
)

# Playwright brings a Node that needs a library (libatomic) which not every machine has.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(NODE))


@contextmanager
def running_console(
    var: Path,
    programs: Collection[str] = PROGRAMS,
    application: str = APPLICATION,
) -> Iterator[str]:
    """The pages and the worker, as ``make run`` starts them; yields their URL.

    Args:
        application: what serves the pages, where it is not the console's own.
    """
    with kept_port() as port:
        yield from programs_running(var, programs, application, port)


def programs_running(
    var: Path, programs: Collection[str], application: str, port: int
) -> Iterator[str]:
    environment = environment_of_programs(var, port)
    shutil.copytree(Path(collected().name, "static"), var / "static")
    shutil.copy(found_axe(), var / "static")
    said = {name: io.StringIO() for name in programs}
    kept = [
        SupervisedProgram(serving(program, application), Terminal(said[program.name]))
        for program in launcher.table(settings.BASE_DIR / "Procfile", None, environment)
        if program.name in programs
    ]
    try:
        for one in kept:
            one.start()
        until(
            lambda: said["web"].getvalue() or launcher.answers(HOST, port), seconds=180
        )
        assert said["web"].getvalue() == "", said["web"].getvalue()
        yield f"http://{HOST}:{port}"
    finally:
        supervisor.stop(kept)
    assert said["web"].getvalue() == "", said["web"].getvalue()


@cache
def collected() -> TemporaryDirectory[str]:
    """Where static files lie as pages ask for them; gone when this process is."""
    var = TemporaryDirectory()
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity=0"],
        cwd=settings.BASE_DIR,
        env={**os.environ, "BACKOUT_VAR": var.name},
        check=True,
    )
    return var


def serving(program: Program, application: str) -> Program:
    """The same program with this application in place of the console's, as a process of
    its own: forks have the settings of this process.

    Workers are not asked to leave, which takes seconds: nothing is left to do.
    """
    arguments = [one.replace(APPLICATION, application) for one in program.arguments]
    is_worker = program.name in {"worker", "deadlines"}
    signals = [(signal.SIGKILL, 10.0)] if is_worker else program.signals
    return replace(program, arguments=arguments, signals=signals, forked=None)


def environment_of_programs(var: Path, port: int) -> dict[str, str]:
    address = os.environ.get("DATABASE_URL") or socket_paths.database_url(
        settings.VAR_DIR
    )
    database = urlsplit(address)._replace(path=f"/{connection.settings_dict['NAME']}")
    return launcher.environment_of_children(None) | {
        "BACKOUT_SECRET_KEYS": ",".join(settings.BACKOUT_SECRET_KEYS),
        "BACKOUT_VAR": str(var),
        "DATABASE_URL": database.geturl(),
        "LOG_LEVEL": "WARNING",
        "PORT": str(port),
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        MARK: str(var),
    }


def launched(playwright: Playwright) -> Browser:
    """The browser, without a window.

    ``make test`` has seen to it that there is one.
    """
    found = chromium.path()
    if found is None:
        pytest.fail(MISSING.format("Chromium"), pytrace=False)
    return playwright.chromium.launch(
        executable_path=found, env={**chromium.environment()}
    )


def complaints_of(page: Page) -> list[str]:
    """What goes wrong in a page from now on: policy, scripts, requests."""
    wrong: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            wrong.append(f"{message.type}: {message.text}")

    def ended(request: Request) -> None:
        if request.failure != CUT_OFF:
            wrong.append(f"{request.url}: {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            wrong.append(f"{response.url}: {response.status}")

    page.on("console", said)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", ended)
    page.on("response", answered)
    return wrong


@contextmanager
def opened(site: str, **context: Any) -> Iterator[Page]:
    """A page of a browser, wide unless the context says otherwise, in which nothing may
    go wrong.

    Playwright has a loop of its own on this thread, and Django's models refuse to work
    beside one: what a test stores, it stores before it asks for a page.
    """
    with sync_playwright() as playwright:
        browser = launched(playwright)
        wide = {"viewport": {"width": 1440, "height": 900}}
        page = browser.new_page(base_url=site, **wide | context)
        complaints = complaints_of(page)
        yield page
        browser.close()
    assert complaints == []


def sign_in(page: Page, path: str = "/queues/") -> None:
    """Omar signs in, and gets to where he wanted."""
    page.goto(path)
    page.get_by_label("Username").fill("omar")
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    page.wait_for_url(path)


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def arrive(page: Page, words: str | re.Pattern[str]) -> None:
    """Wait for a page of this heading, until its scripts listen to the keyboard."""
    expect(heading(page)).to_have_text(words)
    page.wait_for_load_state()


def walk_to(page: Page, words: str) -> None:
    """Press Tab until what has the focus says these words, and can be seen to have it.

    Args:
        words: a regular expression for all of its text.
    """
    for _ in range(LONGEST_WALK):
        page.keyboard.press("Tab")
        here = page.locator(":focus-visible")
        if here.count() and re.fullmatch(words, here.inner_text().strip()):
            expect(here).to_be_in_viewport()
            return
    raise AssertionError(f"no key leads to {words}")


def walk_to_choices(page: Page) -> None:
    """Press Tab until one of several choices has the focus."""
    for _ in range(LONGEST_WALK):
        page.keyboard.press("Tab")
        if page.locator('[type="radio"]:focus-visible').count():
            return
    raise AssertionError("no key leads to the choices")


def found_axe() -> Path:
    found = axe.path()
    if found is None:
        pytest.fail(MISSING.format("axe"), pytrace=False)
    return found


def bring_axe(page: Page) -> None:
    """From the console: of a file, the browser keeps what it has compiled."""
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(url=AXE)


def violations(page: Page) -> list[str]:
    """What axe has against a page as it is now, however small."""
    bring_axe(page)
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run({resultTypes: ['violations']})).violations"
    )
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
        for rule in found
        for node in rule["nodes"]
    ]
