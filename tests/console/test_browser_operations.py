"""Operations in a browser: messages are chosen, moved, and brought back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect, sync_playwright

from broker import operations
from broker.models import Operation
from broker.operations import Chosen, Order
from broker.put import put
from broker.triage import Letter
from console import roles
from tests.console.browsing import (
    arrive,
    chromium,
    complaints_of,
    running_console,
    sign_in,
    violations,
    walk_to,
)
from tests.console.letters import die, make_places
from tests.make import make_queue, make_user

pytestmark = pytest.mark.browser

WIDE, NARROW, NARROWEST = 1440, 390, 320  # pixels


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with running_console(tmp_path_factory.mktemp("var")) as url:
        yield url


@pytest.fixture
def letter(transactional_db: None) -> Letter:
    """Omar operates; a message of orders is dead, and two wait on billing."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places()
    make_queue("billing")
    put("billing", b"{}")
    put("billing", b"{}")
    return die()


@pytest.fixture(params=[True], ids=["scripted"])
def page(site: str, letter: Letter, request: pytest.FixtureRequest) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        page = browser.new_page(
            base_url=site,
            viewport={"width": WIDE, "height": 900},
            java_script_enabled=request.param,
        )
        complaints = complaints_of(page)
        yield page
        browser.close()
    assert complaints == []


def result(page: Page) -> str:
    return page.locator(".result").inner_text()


def test_a_dead_letter_is_resubmitted_and_that_is_undone(
    page: Page, letter: Letter
) -> None:
    sign_in(page, f"/messages/{letter.message_id}/")
    page.get_by_role("button", name="Resubmit…").click()
    page.get_by_role("button", name="Resubmit 1 message").click()
    expect(page.locator(".result")).to_have_text("1 sent")
    left = page.locator("[data-countdown]")
    expect(left).to_have_text(re.compile(r"^(30 m 00|29 m \d\d) s$"))
    before = left.inner_text()
    expect(left).not_to_have_text(before)

    page.get_by_role("button", name="Undo…").click()
    arrive(page, "Undo: put 1 message back")
    expect(page.locator(".outlook")).to_contain_text("1 can be put back")
    page.get_by_role("button", name="Put 1 message back").click()
    expect(page.locator(".result")).to_have_text("1 put back")
    page.get_by_role("link", name=str(letter.message_id), exact=True).click()

    expect(page.locator(".verdict")).to_contain_text("It lies on DLQ as a dead letter")


def test_the_keyboard_alone_moves_messages_and_brings_them_back(page: Page) -> None:
    sign_in(page, "/queues/billing/")
    arrive(page, "billing")
    press = page.keyboard.press
    page.get_by_label("Select all on this page").focus()
    press("Space")
    page.get_by_role("link", name="Queues").first.focus()
    walk_to(page, r"Act on those ticked \(2\)…")
    press("Enter")
    arrive(page, "Act on 2 chosen messages on billing")
    walk_to(page, "")
    press("ArrowDown")
    press("ArrowUp")
    expect(page.get_by_role("radio", name=re.compile("^Move"))).to_be_checked()
    expect(page.get_by_label("Priority", exact=True)).to_be_hidden()
    press("Tab")
    page.keyboard.type("DLQ")
    walk_to(page, "Show the plan")
    press("Enter")
    arrive(page, "Move 2 messages to DLQ")
    walk_to(page, "Move 2 messages to DLQ")
    press("Enter")
    expect(page.locator(".result")).to_have_text("2 moved to DLQ")
    walk_to(page, "Undo…")
    press("Enter")
    arrive(page, "Undo: put 2 messages back")
    walk_to(page, "Put 2 messages back")
    press("Enter")
    expect(page.locator(".result")).to_have_text("2 put back")


@pytest.mark.parametrize("page", [False], ids=["unscripted"], indirect=True)
def test_without_scripts_all_of_it_works(page: Page) -> None:
    sign_in(page, "/queues/billing/")
    page.get_by_label(re.compile("^Select message")).first.check()
    page.get_by_role("button", name="Act on those ticked…").click()
    page.get_by_role("radio", name=re.compile("^Remove")).check()
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_label("Reason").fill("sent twice")
    page.get_by_role("button", name="Remove 1 message").click()
    assert result(page) == "1 removed"
    page.get_by_role("button", name="Undo…").click()
    page.get_by_role("button", name="Put 1 message back").click()
    assert result(page) == "1 put back"


@pytest.fixture
def paths(letter: Letter) -> list[str]:
    """Every page of an operation, in each of its states."""
    user = User.objects.get()

    def plan(kind: Operation.Kind, argument: str = "") -> Operation:
        chosen = Chosen(queue="billing")
        what = Order(kind, argument)
        return operations.plan(user, what, chosen, scope="all messages on billing")

    planned = plan(Operation.Kind.DEAD_LETTER)
    copied = plan(Operation.Kind.COPY, "DLQ")
    operations.start(copied.pk)
    undone = plan(Operation.Kind.PRIORITY, "9")
    operations.start(undone.pk)
    undo = operations.plan_undo(user, undone.pk)
    operations.start(undo.pk)
    half = plan(Operation.Kind.MOVE, "orders")
    operations.start(half.pk, limit=1)
    return [
        "/queues/billing/",
        "/queues/billing/order/?which=all",
        f"/dead/order/?fingerprint={letter.fingerprint}",
        f"/messages/{letter.message_id}/",
        *[f"/operations/{one.pk}/" for one in (planned, copied, undone, undo, half)],
        f"/operations/{operations.plan_undo(user, copied.pk).pk}/",
        "/operations/",
    ]


def test_nobody_is_shut_out(paths: list[str], page: Page) -> None:
    """Axe finds nothing, in both themes, and nothing is wider than its screen."""
    found = []
    sign_in(page)
    for path in paths:
        page.goto(path)
        for theme, width in (("light", WIDE), ("dark", NARROW), ("light", NARROWEST)):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"{path} {theme} {width} {one}" for one in violations(page)]
        wide = page.evaluate(
            "() => [...document.querySelectorAll(':root, .table-wrap')]"
            ".filter((one) => one.scrollWidth > one.clientWidth)"
            ".map((one) => one.outerHTML.slice(0, 200))"
        )
        found += [f"{path} {one}" for one in wide]

    assert found == []
