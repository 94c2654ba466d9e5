"""Repairs in a browser: one message edited, many patched, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from broker import operations
from broker.models import Operation
from broker.monitoring.dead_letters import Letter, Selection
from broker.operations import Chosen, Order
from console.accounts import roles
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    walk_to,
)
from tests.console.letters import die, make_places
from tests.make import make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

BODY = b"""{
  "order": 12345678901234567890,
  "price": 1.10,
  "currency": "XBT",\r
  "lines": [1, 2]
}
"""


@pytest.fixture
def letters(transactional_db: None) -> list[Letter]:
    """Omar operates; three orders are dead, of which one is no JSON."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places()
    said: dict[str, Any] = {
        "correlation_id": "c-17",
        "properties": {"tenant": "t7", "tries": 2},
    }
    return [
        die(body=body, content_type="application/json", **said)
        for body in (BODY, b'{"currency": "BTC"}', b"no json")
    ]


@pytest.fixture(params=[True], ids=["scripted"])
def page(
    site: str, letters: list[Letter], request: pytest.FixtureRequest
) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site, java_script_enabled=request.param) as page:
        yield page


def sent_body(page: Page) -> bytes:
    """Of the copy whose page this is."""
    link = page.get_by_role("link", name="Download body").get_attribute("href")
    return page.request.get(urljoin(page.url, link or "")).body()


@pytest.fixture
def plan(letters: list[Letter]) -> Operation:
    return planned()


@pytest.mark.parametrize("page", [True, False], indirect=True)
def test_what_is_typed_is_sent_and_nothing_else_is_changed(
    page: Page, letters: list[Letter]
) -> None:
    """A browser writes all line ends alike; one of these is another."""
    letter = letters[0]
    sign_in(page, f"/messages/{letter.origin_id}/")
    page.get_by_role("link", name="Repair…").click()
    body = page.get_by_role("textbox", name="Body")
    body.fill(body.input_value().replace("XBT", "EUR"))
    page.get_by_role("button", name="Preview").click()
    expect(page.locator('[data-kind="gone"]')).to_contain_text('"currency": "XBT",')
    expect(page.locator('[data-kind="new"]')).to_contain_text('"currency": "EUR",')

    page.get_by_role("button", name="Send it to orders").click()

    expect(page.get_by_text(f"Message {letter.origin_id} was repaired")).to_be_visible()
    repaired = page.get_by_role("heading", name="Repaired from copy 1")
    expect(repaired).to_be_visible()
    assert sent_body(page) == BODY.replace(b"XBT", b"EUR")


def test_the_keyboard_alone_repairs_a_message(
    page: Page, letters: list[Letter]
) -> None:
    sign_in(page, f"/messages/{letters[1].origin_id}/")
    walk_to(page, "Repair…")
    page.keyboard.press("Enter")
    arrive(page, f"Repair message {letters[1].origin_id}")
    page.get_by_label("subject").focus()
    page.keyboard.type("corrected")
    walk_to(page, "Preview")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What you changed")).to_be_visible()
    walk_to(page, "Send it to orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Repaired from copy 1")).to_be_visible()
    assert sent_body(page) == b'{"currency": "BTC"}'


@pytest.mark.parametrize("page", [True, False], indirect=True)
def test_many_are_patched_by_a_plan_and_that_is_undone(
    plan: Operation, page: Page
) -> None:
    sign_in(page, f"/operations/{plan.pk}/")
    page.get_by_text("Write a patch").click()
    page.get_by_label("JSON merge patch").check()
    page.get_by_label("The patch of the body").fill('{"currency": "EUR"}')
    page.get_by_role("button", name="See what it would change").click()
    expect(page.get_by_text("The patch fits 2 of 3.")).to_be_visible()
    expect(page.get_by_label("Canary")).to_have_value("1")  # nobody has tried the patch
    page.get_by_label("Canary").fill("0")
    page.get_by_role("button", name="Resubmit 2 messages").click()
    expect(page.locator(".result")).to_contain_text("2 sent")

    page.get_by_role("button", name="Undo…").click()
    page.get_by_role("button", name="Put 2 messages back").click()

    expect(page.locator(".result")).to_have_text("2 put back")


@pytest.fixture
def plan_of_json(letters: list[Letter]) -> Operation:
    die(body=BODY, content_type="application/json", properties={"tenant": "t7"})
    return planned()


def test_a_patch_begins_at_a_key_and_shows_what_it_changes_while_one_types(
    plan_of_json: Operation, page: Page
) -> None:
    sign_in(page, f"/operations/{plan_of_json.pk}/")
    page.get_by_text("Write a patch").click()
    page.get_by_role("button", name="currency").click()
    patch = page.get_by_label("The patch of the body")
    expect(patch).to_have_value('{\n  "currency": "XBT"\n}')
    expect(patch).to_be_focused()
    tried = page.get_by_role("group", name="What the patch changes in this message")
    expect(tried).to_contain_text("The patch would change nothing in it.")

    patch.fill('{"currency": "EUR"}')

    expect(tried.locator('[data-kind="new"]')).to_contain_text('/currency: "EUR"')
    page.get_by_role("button", name="h.tenant").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Which header, 1")).to_have_value("h.tenant")
    value = page.get_by_label("Value, 1")
    expect(value).to_be_focused()
    value.fill("t8")
    expect(tried).to_contain_text('h.tenant: "t8"')
    page.get_by_role("button", name="See what it would change").click()
    expect(page.get_by_text("The patch fits 3 of 4.")).to_be_visible()


def planned() -> Operation:
    user = User.objects.get()
    order = Order(Operation.Kind.RESUBMIT)
    letters = Chosen(letters=Selection())
    return operations.plan(user, order, letters, scope="all dead letters")
