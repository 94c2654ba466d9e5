"""Operations in a browser: messages are chosen, moved, and brought back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from broker import operations
from broker.models import Operation
from broker.monitoring.dead_letters import Letter
from broker.queueing.put import put
from console.accounts import roles
from tests.broker.elsewhere import Background
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    walk_to,
    walk_to_choices,
)
from tests.console.letters import attempt, die, make_places
from tests.console.operations.ordering import many
from tests.make import make_queue, make_user, plan_resubmit

pytestmark = pytest.mark.browser


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
    with opened(site, java_script_enabled=request.param) as page:
        yield page


@pytest.mark.thorough
def test_a_dead_letter_is_resubmitted_and_that_is_undone(
    page: Page, letter: Letter
) -> None:
    sign_in(page, f"/messages/{letter.origin_id}/")
    page.get_by_role("button", name="Resubmit…", exact=True).click()
    page.get_by_role("button", name="Resubmit 1 message").click()
    expect(page.locator(".result")).to_contain_text("1 sent")
    left = page.locator("[data-countdown]")
    expect(left).to_have_text(re.compile(r"^(30 min|29 min \d+ s)$"))
    before = left.inner_text()
    expect(left).not_to_have_text(before)

    page.get_by_role("button", name="Undo…").click()
    arrive(page, "Undo: put 1 message back")
    expect(page.locator(".outlook")).to_contain_text("1 can be put back")
    page.get_by_role("button", name="Put 1 message back").click()
    expect(page.locator(".result")).to_have_text("1 put back")
    page.get_by_role("link", name=str(letter.origin_id), exact=True).click()

    expect(page.locator(".verdict")).to_contain_text("It is a dead letter on DLQ")


@pytest.mark.thorough
def test_the_keyboard_alone_moves_messages_and_brings_them_back(page: Page) -> None:
    sign_in(page, "/queues/billing/")
    arrive(page, "billing")
    press = page.keyboard.press
    page.get_by_label("Select all on this page").focus()
    press("Space")
    page.get_by_role("link", name="Queues").first.focus()
    walk_to(page, r"Act on those selected \(2\)…")
    press("Enter")
    arrive(page, "Act on 2 chosen messages on billing")
    walk_to_choices(page)
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
    expect(page.locator(".result")).to_contain_text("2 moved to DLQ")
    walk_to(page, "Undo…")
    press("Enter")
    arrive(page, "Undo: put 2 messages back")
    walk_to(page, "Put 2 messages back")
    press("Enter")
    expect(page.locator(".result")).to_have_text("2 put back")


@pytest.mark.thorough
@pytest.mark.parametrize("page", [False], ids=["unscripted"], indirect=True)
def test_without_scripts_all_of_it_works(page: Page) -> None:
    sign_in(page, "/queues/billing/")
    page.get_by_label(re.compile("^Select message")).first.check()
    page.get_by_role("button", name="Act on those selected…").click()
    page.get_by_role("radio", name=re.compile("^Remove")).check()
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_label("Reason").fill("sent twice")
    page.get_by_role("button", name="Remove 1 message").click()
    expect(page.locator(".result")).to_have_text(re.compile(r"^\s*1 removed"))
    page.get_by_role("button", name="Undo…").click()
    page.get_by_role("button", name="Put 1 message back").click()
    expect(page.locator(".result")).to_have_text("1 put back")


@pytest.fixture
def planned(letter: Letter) -> Operation:
    many(30)
    return plan_resubmit(User.objects.get(), "all dead letters")


@pytest.mark.thorough
def test_a_few_go_first_and_the_operation_stops_itself(
    planned: Operation, page: Page
) -> None:
    sign_in(page, f"/operations/{planned.pk}/")
    first = page.get_by_label("Canary")
    first.fill("4")
    page.get_by_role("button", name="Resubmit 31 messages – start with 4").click()
    expect(page.locator(".steps [aria-current]")).to_contain_text("Canary")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".chip", has_text="paused")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("Pace…").click()
    page.get_by_label("Messages a second").fill("7")
    page.get_by_role("button", name="Change the pace").click()
    expect(page.locator(".history")).to_contain_text("set its pace to 7 a second")

    def they_die() -> None:
        attempt("ValueError: row 7 is bad", limit=3)
        operations.step(planned.pk)

    Background(they_die).join()

    alarm = page.get_by_role("alert")
    expect(alarm).to_contain_text("It stopped itself. 3 of 4 dead-lettered again")
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator(".result")).to_contain_text("4 sent 27 not touched")
    page.get_by_role("button", name="Undo…").click()
    expect(page.locator(".outlook")).to_contain_text("4 can be put back")
