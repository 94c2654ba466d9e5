"""An operator at work, once with a pointer and once by the keyboard alone.

From the first page to the undo: finds a cause among many groups of dead letters, reads
one, writes a patch for all of them, looks what it would change, starts with a canary,
sees it go well and more follow, and takes back what can be when the operation stops
itself.

python manage.py with_servers python -m tests.console.operator --letters 200000
"""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, Request, expect, sync_playwright

from broker.monitoring import fsck
from console.accounts import roles
from tests.amqp.apart import own_database
from tests.console.browsing import (
    PROGRAMS,
    arrive,
    complaints_of,
    launched,
    running_console,
    sign_in,
)
from tests.console.graveyard import bury
from tests.console.hands import Hands, Keyboard, Pointer
from tests.console.shop import Shop
from tests.make import make_user

SOUGHT = "the currency XBT is unknown"
PATCH = '{"currency": "EUR"}'
FAILURES = {
    Pointer: "OSError: the ledger of the shop is full",
    Keyboard: "RuntimeError: the ledger of the shop is locked",
}
WAITS_MS = 120_000  # for the worker


@dataclass
class Step:
    """One thing that an operator does, or waits for."""

    name: str
    keys: int
    clicks: int
    seconds: float


@dataclass
class Day:
    """What an operator did, and the slowest answer of the server to it."""

    hands: Hands
    steps: list[Step] = field(default_factory=list)
    slowest_ms: float = 0
    slowest: str = ""

    def __post_init__(self) -> None:
        self.hands.page.on("requestfinished", self.answered)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        keys, clicks = self.hands.keys, self.hands.clicks
        began = time.perf_counter()
        yield
        took = time.perf_counter() - began
        keys, clicks = self.hands.keys - keys, self.hands.clicks - clicks
        self.steps.append(Step(name, keys, clicks, took))

    def answered(self, request: Request) -> None:
        """How long the server thought about it: until the first byte."""
        took = request.timing["responseStart"] - request.timing["requestStart"]
        if took > self.slowest_ms and "/static/" not in request.url:
            self.slowest_ms = took
            self.slowest = f"{request.method} {request.url}"


def work(hands: Hands) -> Day:
    """The whole of it. The page is the console's first."""
    day, page = Day(hands), hands.page
    with day.step("open the console"):
        page.goto("/")
        arrive(page, "Overview")
    with day.step("find the cause among the groups"):
        hands.place("Dead letters", "d")
        arrive(page, "Dead letters")
        rows = page.locator("main [data-row]").all_inner_texts()
        hands.row(next(at for at, text in enumerate(rows) if SOUGHT in text))
        arrive(page, re.compile(SOUGHT))
    with day.step("read one message, and go back"):
        hands.row(0)
        expect(page.locator(".drawer .body-text").first).to_contain_text("XBT")
        hands.back()
        expect(page.locator(".drawer")).to_be_hidden()
    with day.step("plan to resubmit the group"):
        hands.plan()
        arrive(page, re.compile("^Resubmit .* messages"))
    repair(day)
    start(day)
    watch(day)
    take_back(day)
    return day


def repair(day: Day) -> None:
    hands, page = day.hands, day.hands.page
    with day.step("write a patch"):
        hands.press("^Write a patch")
        hands.choose("^JSON merge patch")
        hands.write("The patch of the body", PATCH)
    with day.step("see what it would change in all of them"):
        hands.press("^See what it would change")
        fits = page.get_by_text(re.compile("^The patch fits"))
        expect(fits).to_be_visible(timeout=WAITS_MS)
        said = re.findall(r"[\d,]+", fits.inner_text())
        assert said[0] == said[1], "it fits all of them"
        expect(page.locator('.alike-list [data-kind="new"]')).to_contain_text("EUR")


def start(day: Day) -> None:
    hands, page = day.hands, day.hands.page
    with day.step("start, with a canary of ten and a pace"):
        expect(page.get_by_label("Canary")).to_have_value("10")
        hands.write("Pace", "500")
        hands.write("Reason", "their currency is mended")
        hands.press("start with 10$")
        expect(page.locator("#result")).to_have_text("Progress")


def watch(day: Day) -> None:
    page = day.hands.page
    with day.step("watch ten go well"):
        ten = page.locator('[data-lane="canary"] [data-label="processed"]')
        expect(ten).to_have_text("10", timeout=WAITS_MS)
    with day.step("watch more follow"):
        more = page.locator('[data-lane="ramp"] [data-label="processed"]')
        expect(more).not_to_have_text("0", timeout=WAITS_MS)
    with day.step("see it stop itself at a second cause"):
        alarm = page.locator("main").get_by_role("alert")
        expect(alarm).to_contain_text("with a new error", timeout=WAITS_MS)
        expect(alarm).to_contain_text(" the ledger of the shop is ")


def take_back(day: Day) -> None:
    hands, page = day.hands, day.hands.page
    with day.step("stop, and plan the undo"):
        hands.press("^Stop here")
        expect(page.locator(".result")).to_contain_text("not touched")
        hands.press("^Undo…")
        arrive(page, re.compile("^Undo: put .* back"))
        expect(page.locator(".outlook")).to_contain_text("can be put back")
    with day.step("take back what can be"):
        hands.write("Reason", "the ledger first")
        hands.press("^Put .* back$")
        result = page.locator(".result")
        expect(result).to_contain_text("put back", timeout=WAITS_MS)
        expect(page.locator("#result")).to_have_text("Result", timeout=WAITS_MS)


def table(day: Day) -> str:
    """What was done, in Markdown."""
    rows = [(s.name, s.keys, s.clicks, s.seconds) for s in day.steps]
    total = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    lines = [
        f"| {name} | {keys} | {clicks} | {seconds:.1f} |"
        for name, keys, clicks, seconds in [*rows, ("**all of it**", *total)]
    ]
    head = ["| step | keys | clicks | seconds |", "|---|--:|--:|--:|"]
    slow = f"The slowest answer: {day.slowest_ms:.0f} ms, {day.slowest}"
    return "\n".join([*head, *lines, "", slow])


def make_omar() -> None:
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])


@contextmanager
def console(var: Path) -> Iterator[Page]:
    """A console that its beat drives, and a browser in which Omar is signed in."""
    with (
        running_console(var, (*PROGRAMS, "deadlines", "beat")) as url,
        sync_playwright() as playwright,
    ):
        browser = launched(playwright)
        page = browser.new_page(base_url=url, viewport={"width": 1440, "height": 900})
        complaints = complaints_of(page)
        sign_in(page)
        yield page
        browser.close()
        assert complaints == []


def main() -> None:
    """Bury as many as asked for, and print what it took to deal with one cause."""
    parser = ArgumentParser(prog="tests.console.operator", description=__doc__)
    parser.add_argument("--letters", type=int, default=200_000)
    given = parser.parse_args()
    with own_database("operator"), TemporaryDirectory() as var:
        make_omar()
        for dead in bury(given.letters):
            print(f"\r{dead:,} dead letters", end="", file=sys.stderr, flush=True)
        assert fsck.violations() == []
        with console(Path(var)) as page:
            for way in (Pointer, Keyboard):
                with Shop(FAILURES[way]):
                    day = work(way(page))
                print(f"\n{way.__doc__}\n\n{table(day)}\n", flush=True)
        assert fsck.violations() == []


if __name__ == "__main__":
    main()
