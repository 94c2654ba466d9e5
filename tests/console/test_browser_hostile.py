"""Content that was written to run in a browser does not, on any of the main pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.urls import reverse
from playwright.sync_api import Page, expect, sync_playwright

from broker.models import ClientConnection, DeadLetter, Message, Operation, Queue
from console.accounts import roles
from tests.console.browsing import (
    arrive,
    complaints_of,
    launched,
    sign_in,
)
from tests.console.hostile import CANARY, RUN
from tests.console.hostile_world import make_world
from tests.make import make_user

pytestmark = pytest.mark.browser

# What a payload would call, and what the browser tells of one that the policy stopped.
LISTENS = f"""
    window.{CANARY} = () => console.error("a payload ran");
    addEventListener("securitypolicyviolation", violation =>
        console.error("policy: " + violation.violatedDirective));
"""
NOT_THERE = re.compile(r": 4\d\d$|status of 4\d\d")  # what has no such page
MESSAGES = 14  # of the newest, which have the strangest bodies
LETTERS = 8


@pytest.fixture
def world(transactional_db: None) -> list[str]:
    """Omar may all; everybody and everything else is hostile. The pages to look at."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["administrator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.is_superuser = omar.is_staff = True
    omar.save()
    make_world(make_user("eve"))
    return list(addresses())


@pytest.fixture
def page(site: str, transactional_db: None) -> Iterator[Page]:
    """A page of a browser; asked for after the world: nothing is stored beside it."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(base_url=site)
        page.add_init_script(LISTENS)
        yield page
        browser.close()


def addresses() -> Iterator[str]:
    """Of the main pages, with what is worst on them."""
    plain = ("queues", "overview", "messages", "dead_letters", "discards", "consumers")
    more = ("connections", "credentials", "effective", "health", "operations", "audit")
    for name in (*plain, *more, "scheduled", "units", "rules"):
        yield reverse(f"console:{name}")
    yield reverse("console:messages") + "?f=state:discarded"
    yield reverse("dashboards:report", args=["dead-letters"])
    yield reverse("console:rule_table", args=["DLQ"])
    for queue in ("DLQ", Queue.objects.filter(name__contains=CANARY)[0].name):
        yield reverse("console:queue", args=[queue])
    for operation in Operation.objects.all():
        yield reverse("console:operation", args=[operation.pk])
    connection = ClientConnection.objects.latest("pk")
    yield reverse("console:connection", args=[connection.pk])
    letters = list(DeadLetter.objects.all()[:LETTERS])
    newest = Message.objects.order_by("-pk").values_list("pk", flat=True)[:MESSAGES]
    for message_id in (*newest, *(letter.message_id for letter in letters)):
        yield reverse("console:message", args=[message_id])
    for letter in letters[:2]:
        yield reverse("console:dead_letter_group", args=[letter.fingerprint])
        yield reverse("console:edit", args=[letter.message_id])


@pytest.mark.thorough
def test_no_payload_runs_and_no_policy_has_to_stop_one(
    world: list[str], page: Page
) -> None:
    sign_in(page)
    complaints = complaints_of(page)

    for address in world:
        page.goto(address)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )

    assert complaints == []


@pytest.mark.thorough
@pytest.mark.usefixtures("world")
def test_what_scripts_build_of_names_is_text(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    complaints = complaints_of(page)

    page.keyboard.press("Control+k")
    page.keyboard.type(CANARY)
    expect(page.locator("#ways a").first).to_contain_text(CANARY)
    page.goto("/messages/")
    page.keyboard.press("/")
    page.keyboard.type("queue:")
    strange = page.locator("#completions option", has_text=CANARY)
    named = page.locator(f'#completions option[value*="{CANARY}"]')
    expect(named.or_(strange).first).to_be_attached()

    assert complaints == []


def test_a_payload_that_runs_is_heard_and_one_that_is_stopped_too(page: Page) -> None:
    complaints = complaints_of(page)
    image = f"<img src=data:, onerror={RUN}>"
    put = f"document.body.insertAdjacentHTML('beforeend', '{image}')"

    page.goto("about:blank")
    with page.expect_console_message(lambda said: said.text == "a payload ran"):
        page.evaluate(put)
    page.goto("/accounts/login/")
    with page.expect_console_message(lambda said: said.text.startswith("policy: ")):
        page.evaluate(put)

    assert [one for one in complaints if "a payload ran" in one] == [
        "error: a payload ran"
    ]
    assert any("policy: script-src" in one for one in complaints)
