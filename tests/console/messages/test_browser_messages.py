"""Messages in a browser: found, narrowed and acted on, by the keyboard alone too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.monitoring.dead_letters import Letter
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from console.accounts import roles
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    walk_to,
    walk_to_choices,
)
from tests.console.letters import die, make_places
from tests.make import make_messages, make_queue, make_user

pytestmark = pytest.mark.browser

# On a slow machine a count stops before its end: "1 or more match".
ONE, SIXTY = re.compile(r"^\s*1 .*match"), re.compile(r"^\s*60 .*match")


@pytest.fixture
def letter(transactional_db: None) -> Letter:
    """Omar operates; of orders one is dead and one taken; sixty are on billing."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places()
    make_queue("billing")
    fields = {"subject": "bill", "content_type": "application/json", "producer": "shop"}
    put_many(make_messages(60, "billing", properties={"tenant": "t7"}, **fields))
    put("orders", b"{}", message_id="ID:of/a-sender", subject="x" * 200)
    UnitOfWork().get("orders")
    return die(subject="order")


@pytest.fixture(params=[True], ids=["scripted"])
def page(site: str, letter: Letter, request: pytest.FixtureRequest) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site, java_script_enabled=request.param) as page:
        yield page


def test_the_keyboard_alone_finds_messages(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    press = page.keyboard.press

    press("g")
    press("m")
    arrive(page, "Messages")
    press("/")
    page.keyboard.type("queue:bil")
    expect(page.locator('#completions option[value="queue:billing"]')).to_have_count(1)
    page.keyboard.type("ling")
    press("Enter")
    page.wait_for_url("**/messages/?f=queue%3Abilling")
    expect(page.locator(".subline")).to_contain_text(SIXTY)
    press("/")
    page.keyboard.type("body:17")
    press("Enter")
    page.wait_for_url("**/messages/?f=queue%3Abilling&f=body%3A17")
    expect(page.locator(".subline")).to_contain_text(ONE)
    expect(page.locator("tbody input")).to_have_count(1)


@pytest.mark.thorough
def test_the_keyboard_alone_ticks_and_moves(page: Page) -> None:
    sign_in(page, "/messages/?f=queue%3Abilling&f=body%3A17")
    arrive(page, "Messages")
    press = page.keyboard.press

    press("j")
    press("x")
    expect(page.locator("[data-ticked]")).to_have_text(" (1)")
    page.get_by_role("link", name="Messages").first.focus()
    walk_to(page, r"Act on those selected on this page \(1\)…")
    press("Enter")
    arrive(page, "Act on 1 chosen message")
    walk_to_choices(page)
    press("ArrowDown")
    press("ArrowUp")
    expect(page.get_by_role("radio", name=re.compile("^Move"))).to_be_checked()
    press("Tab")
    page.keyboard.type("orders")
    walk_to(page, "Show the plan")
    press("Enter")
    arrive(page, "Move 1 message to orders")
    walk_to(page, "Move 1 message to orders")
    press("Enter")
    expect(page.locator(".result")).to_contain_text("1 moved to orders")


@pytest.mark.thorough
def test_while_some_are_selected_nothing_acts_on_all(page: Page) -> None:
    sign_in(page, "/messages/?f=queue%3Abilling")
    every = page.get_by_role("button", name="Act on all 60 that match…")
    expect(every).to_be_visible()
    boxes = page.locator("tbody input")

    boxes.nth(3).check()
    expect(every).to_be_hidden()
    boxes.nth(3).uncheck()
    expect(every).to_be_visible()
    page.get_by_label("Select all on this page").check()
    expect(every).to_be_hidden()

    page.goto("/queues/billing/")
    every = page.get_by_role("button", name="Act on all ready messages…")
    expect(every).to_be_visible()
    boxes.first.check()
    expect(every).to_be_hidden()


@pytest.mark.thorough
def test_shift_and_a_click_select_all_that_lie_between(page: Page) -> None:
    """From the last one that was clicked or chosen by keys, up or down; off, too."""
    sign_in(page, "/messages/?f=queue%3Abilling")
    arrive(page, "Messages")
    boxes = page.locator("tbody input")

    boxes.nth(5).click()
    boxes.nth(2).click(modifiers=["Shift"])
    assert ticked(page) == [2, 3, 4, 5]
    expect(page.locator("[data-ticked]")).to_have_text(" (4)")
    assert page.evaluate("getSelection().isCollapsed")
    boxes.nth(4).click(modifiers=["Shift"])
    assert ticked(page) == [5]

    links = page.locator("tbody th a")
    links.nth(6).focus()
    page.keyboard.press("x")
    boxes.nth(8).click(modifiers=["Shift"])
    assert ticked(page) == [5, 6, 7, 8]
    links.nth(10).focus()
    page.keyboard.press("Shift+X")
    assert ticked(page) == [5, 6, 7, 8, 9, 10]


def ticked(page: Page) -> list[int]:
    """The rows that are selected."""
    states = page.locator("tbody input").evaluate_all("all => all.map(o => o.checked)")
    return [n for n, is_ticked in enumerate(states) if is_ticked]


@pytest.mark.thorough
def test_a_value_is_followed_and_taken_away_again(page: Page) -> None:
    sign_in(page, "/messages/")
    page.get_by_role("row").filter(has_text="ValueError").get_by_title(
        "Only those with this state"
    ).click()
    page.wait_for_url("**/messages/?f=state%3Adead")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.get_by_role("link", name="Without state:dead").click()
    page.wait_for_url("**/messages/")
    page.go_back()
    expect(page.locator("[data-row]")).to_have_count(1)


@pytest.mark.thorough
def test_values_are_offered_while_one_types(page: Page) -> None:
    sign_in(page, "/messages/")
    arrive(page, "Messages")
    page.keyboard.press("/")
    page.keyboard.type("h.ten")
    expect(page.locator('#completions option[value="h.tenant:"]')).to_have_count(1)
    page.keyboard.type("ant:")
    expect(page.locator('#completions option[value="h.tenant:t7"]')).to_have_count(1)
    expect(page.locator("[data-said]")).to_contain_text("newest 2,000 messages")


@pytest.mark.thorough
def test_a_file_is_downloaded(page: Page, tmp_path: Path) -> None:
    """Through the real server, which streams it."""
    sign_in(page, "/messages/?f=queue%3Abilling")
    page.get_by_text("Export…").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="As NDJSON, with bodies").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".ndjson"
    assert path.read_text().count('"body": "') == 60


@pytest.mark.thorough
@pytest.mark.parametrize("page", [False], ids=["unscripted"], indirect=True)
def test_without_scripts_all_of_it_works(page: Page) -> None:
    sign_in(page, "/messages/")
    page.get_by_label("Add to the filter").fill("queue:billing type:bill")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator(".subline")).to_contain_text(SIXTY)
    page.get_by_text("Save this view…").click()
    page.get_by_label("Name", exact=True).fill("Bills")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The view “Bills” is saved.")).to_be_visible()
    page.get_by_role("link", name="Messages").first.click()
    page.get_by_role("link", name="Bills").click()
    page.get_by_role("button", name="Act on all 60 that match…").click()
    page.get_by_role("radio", name=re.compile("^Change priority")).check()
    page.get_by_label("Priority", exact=True).select_option("9")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_role("button", name="Give 60 messages priority 9").click()
    expect(page.locator(".result")).to_contain_text("60 given priority 9")


@pytest.fixture
def many_fields(letter: Letter) -> int:
    """The id of a message with twenty properties."""
    fields = {f"field{n}": f"v{n}" for n in range(20)}
    return put("orders", properties=fields).message_id


@pytest.mark.thorough
def test_a_long_list_of_properties_is_narrowed(many_fields: int, page: Page) -> None:
    sign_in(page)
    page.goto(f"/messages/{many_fields}/")

    page.get_by_role("searchbox", name="Narrow the properties").fill("V17")

    shown = page.locator("#application-list dt:visible")
    expect(shown).to_have_text(["field17"])


@pytest.mark.thorough
def test_headers_are_copied_a_line_each(page: Page, letter: Letter) -> None:
    sign_in(page)
    page.goto(f"/messages/{letter.origin_id}/")
    page.evaluate(
        "navigator.clipboard.writeText = async (text) => { window.copied = text }"
    )

    page.get_by_role("button", name="Copy the headers").click()

    expect(page.locator("[data-copied]").last).to_have_text("Copied.")
    lines = str(page.evaluate("window.copied")).split("\n")
    assert "Subject: order" in lines
    assert "Durable: yes" in lines
