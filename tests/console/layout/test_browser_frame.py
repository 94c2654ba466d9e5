"""What stands around pages, in a browser: keys, the bar's search, zones, folding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, Route, expect

from broker.queueing.put import put
from console.accounts import roles
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
)
from tests.make import make_queue, make_user

pytestmark = pytest.mark.browser

COUNT_TRIGGERS = """
() => {
  let asked = 0;
  document.body.addEventListener("htmx:trigger", ({target}) => {
    if (target.id === "go") document.body.dataset.asked = ++asked;
  });
}
"""
DEEP = {"a": {"b": {"c": {"needle": [1, 2, 3, 4]}}}}


@pytest.fixture
def deep(transactional_db: None) -> int:
    """Omar operates; the message on orders lies deep."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue("orders")
    make_queue("orders.eu")
    body = json.dumps(DEEP).encode()
    put("orders", b"1")
    put("orders", b"2")
    return put("orders", body, content_type="application/json").message_id


@pytest.fixture
def page(site: str, deep: int) -> Iterator[Page]:
    """As in ``test_browser``, of somebody in India: nothing may go wrong in it."""
    with opened(site, timezone_id="Asia/Kolkata") as page:
        yield page


@pytest.mark.thorough
def test_who_types_slowly_is_answered_for_all_that_was_typed(page: Page) -> None:
    """Each pause asks. What was asked before may still be on its way, and nothing that
    is cut off is told as an error to whoever looks for one."""
    sign_in(page)
    arrive(page, "Queues")
    held: list[Route] = []
    page.route("**/go/?q=*", lambda route: held.append(route))
    page.evaluate(COUNT_TRIGGERS)
    page.keyboard.press("Control+k")

    for number, typed in enumerate(("ord", "ers", ".eu"), 1):
        page.keyboard.type(typed)
        expect(page.locator("body")).to_have_attribute("data-asked", str(number))
    page.route("**/go/?q=orders.eu", lambda route: route.continue_())
    held[0].continue_()

    expect(page.locator("#ways a")).to_have_count(1)
    expect(page.locator("#ways a")).to_contain_text("orders.eu")


def test_the_keyboard_alone_goes_anywhere_by_name(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    press = page.keyboard.press

    press("Control+k")
    page.keyboard.type("orders")
    expect(page.locator("#ways a")).to_have_count(2)
    press("Escape")
    expect(page.locator("#ways a")).to_have_count(0)
    press("Control+k")
    page.keyboard.type("orders")
    expect(page.locator("#ways a")).to_have_count(2)
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")

    arrive(page, "orders.eu")


@pytest.mark.thorough
def test_what_is_typed_whole_needs_no_choice(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")

    page.keyboard.press("Control+k")
    page.keyboard.type("orders")
    page.keyboard.press("Enter")

    arrive(page, "orders")


@pytest.mark.thorough
def test_rows_are_walked_and_selected_by_keys(page: Page) -> None:
    sign_in(page, "/queues/orders/")
    arrive(page, "orders")
    ticked = page.locator("tbody input:checked")

    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(ticked).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+X")
    expect(ticked).to_have_count(3)
    page.keyboard.press("o")

    expect(page.locator(".drawer-title")).to_have_text(re.compile("^Message"))


@pytest.mark.thorough
def test_single_keys_rest_where_they_are_switched_off(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")

    page.keyboard.press("?")
    page.get_by_label("Use single-letter shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_have_count(0)
    arrive(page, "Queues")
    page.keyboard.press("Control+k")

    expect(page.locator("#go")).to_be_focused()


@pytest.mark.thorough
def test_the_clock_and_all_times_are_where_one_is(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    clock = page.locator("[data-clock]")
    expect(clock).to_have_text(re.compile("UTC$"))

    page.locator("summary", has_text="omar").click()
    page.get_by_role("button", name="Local").click()

    expect(clock).to_have_text(re.compile("IST$"))
    page.locator("summary", has_text="omar").click()
    local = page.get_by_role("button", name="Local")
    expect(local).to_have_attribute("aria-pressed", "true")


@pytest.mark.thorough
def test_what_lies_deep_is_unfolded_by_a_click(page: Page, deep: int) -> None:
    sign_in(page, f"/messages/{deep}/")
    arrive(page, f"Message {deep}")
    inside = page.locator(".line", has_text="needle")
    expect(inside).not_to_be_visible()

    page.locator(".body-text summary").click()

    expect(inside).to_be_visible()
    expect(page.locator(".line").last).to_have_attribute("data-number", "14")
