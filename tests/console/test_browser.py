"""The console as people meet it: in a browser, with all that runs behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Locator, Page, expect

from broker.monitoring.dead_letters import Letter
from console.accounts import roles
from tests.broker.elsewhere import process, said
from tests.console.browsing import (
    arrive,
    heading,
    opened,
    sign_in,
    walk_to,
)
from tests.console.letters import die, make_places
from tests.make import make_user

pytestmark = pytest.mark.browser

ELSEWHERE = """
from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from dashboards.tasks import publish_depths

{deed}
publish_depths.apply_async(expires=60)  # the clock that does so is not running
print("done", flush=True)
"""
PUT = 'put("orders", b"{}")'
ACCEPT = """
with unit_of_work(actor="shop.handle") as work:
    work.get("orders", limit=1)
"""


@pytest.fixture
def letter(transactional_db: None) -> Letter:
    """Omar operates, and a message of orders is dead."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places(delay_ms=30_000)
    return die()


@pytest.fixture
def page(site: str, letter: Letter) -> Iterator[Page]:
    """A page of a browser, in which nothing may go wrong.

    Playwright has a loop of its own on this thread, and Django's models refuse to work
    beside one: what a test stores, it stores before it asks for a page.
    """
    with opened(site) as page:
        yield page


@pytest.mark.thorough
def test_a_number_changes_by_itself_and_no_row_moves(page: Page) -> None:
    sign_in(page)
    expect(heading(page)).to_have_text("Queues")
    expect(page.locator(".live-text")).to_have_text(re.compile("^live"))
    ready = row(page, "orders").locator("[data-slot$=-ready]")
    expect(ready).to_have_text("0")
    before = places(page)
    loads = loads_of(page)

    in_another_process(PUT)

    expect(ready).to_have_text("1")
    expect(page.locator("dl [data-slot=ready]")).to_have_text("1")
    assert places(page) == before
    assert loads == []


def test_a_dead_letter_is_resubmitted_and_followed_to_its_end(
    page: Page, letter: Letter
) -> None:
    sign_in(page)

    page.get_by_role("link", name=re.compile("^Dead letters 1")).click()
    page.get_by_role("link", name="ValueError: row {n} is bad").click()
    page.get_by_role("link", name=str(letter.origin_id), exact=True).click()
    expect(page.locator(".verdict")).to_contain_text("ValueError: row 7 is bad")
    page.get_by_role("button", name="Resubmit…", exact=True).click()
    expect(heading(page)).to_have_text("Resubmit 1 message")
    expect(page.get_by_text("Nothing has been sent yet.")).to_be_visible()
    page.get_by_label("Reason").fill("row 7 is mended")
    page.get_by_role("button", name="Resubmit 1 message").click()
    expect(page.locator(".result")).to_contain_text("1 sent")
    expect(page.get_by_text("1 still on its queue")).to_be_visible()
    page.get_by_role("link", name="its copy").click()

    expect(page.locator(".life")).to_have_count(3)
    here = page.locator(".life.is-here")
    expect(here).to_contain_text("as a copy of copy 1")
    in_another_process(ACCEPT)
    expect(page.locator(".verdict")).to_contain_text("It was accepted on orders")
    expect(here).to_contain_text("Attempt 1 of 2: accepted")


@pytest.mark.thorough
def test_the_keyboard_alone_resubmits_a_dead_letter(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    press = page.keyboard.press

    press("g")
    press("d")
    arrive(page, "Dead letters")
    press("j")
    press("Enter")
    arrive(page, "ValueError: row {n} is bad")
    press("j")
    press("Enter")
    expect(page.locator(".drawer")).to_contain_text("is a dead letter on")
    walk_to(page, "Resubmit…")
    press("Enter")
    arrive(page, "Resubmit 1 message")
    walk_to(page, "Resubmit 1 message")
    press("Enter")
    expect(page.locator(".result")).to_contain_text("1 sent")
    walk_to(page, "its copy")
    press("Enter")

    expect(page.locator(".verdict")).to_contain_text("It is ready on orders")


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name))


def places(page: Page) -> list[tuple[str, object]]:
    """Every row of a list by its name, and where it is."""
    rows = page.locator("[data-row]").all()
    return [(one.locator("th").inner_text(), one.bounding_box()) for one in rows]


def loads_of(page: Page) -> list[Page]:
    """Every load of a page from now on."""
    loads: list[Page] = []
    page.on("load", lambda loaded: loads.append(loaded))
    return loads


def in_another_process(deed: str) -> None:
    with process(ELSEWHERE.format(deed=deed)) as other:
        assert said(other) == "done"
