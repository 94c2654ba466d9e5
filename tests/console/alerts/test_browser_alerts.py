"""Causes are acknowledged where they are listed, by a person with a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule
from broker.queueing.put import put
from console.accounts import roles
from console.home.needs import MOST
from tests.broker.elsewhere import Background
from tests.console.browsing import arrive, opened, sign_in
from tests.make import make_queue, make_user

pytestmark = pytest.mark.browser
CAUSES = MOST + 2


@pytest.fixture
def ringing(transactional_db: None) -> None:
    """Omar operates; for each of some queues two rules ring."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    for number in range(CAUSES):
        make_queue(f"q{number}", paused=True)
        put(f"q{number}")
    AlertRule.objects.all().delete()
    AlertRule.objects.create(name="pauses", condition="paused", queues="#")
    AlertRule.objects.create(name="deep", condition="depth", threshold=1)
    evaluate()


@pytest.fixture
def page(site: str, ringing: None) -> Iterator[Page]:
    with opened(site) as page:
        yield page


def states() -> list[str]:
    found: list[str] = []

    def read() -> None:
        found.extend(Alert.objects.order_by("subject").values_list("state", flat=True))

    Background(read).join()
    return found


def test_what_is_on_the_first_screen_leads_to_all_and_some_are_acknowledged(
    page: Page,
) -> None:
    sign_in(page, "/")
    expect(page.locator("#verdict")).to_contain_text(f"{CAUSES} problems")
    expect(page.locator(".needs > li")).to_have_count(MOST)
    depth = page.get_by_role("heading", name="Over time")
    bottom = depth.evaluate("one => one.getBoundingClientRect().bottom")
    assert bottom < page.viewport_size["height"]  # type: ignore[index]

    page.get_by_role("link", name="2 more").click()
    arrive(page, "Alerts")
    listed = page.locator("[aria-labelledby=now] .needs > li")
    expect(listed).to_have_count(CAUSES)
    page.get_by_label("Select q0").check()
    page.get_by_label("Select q1", exact=True).check()
    page.get_by_role("button", name=re.compile(r"selected \(2\)")).click()

    expect(page.locator("#verdict")).to_contain_text(f"{CAUSES - 2} problems")
    expect(page.get_by_role("heading", name="Acknowledged")).to_contain_text("2")
    assert states() == ["acknowledged"] * 4 + ["firing"] * 2 * (CAUSES - 2)


def test_all_that_are_listed_are_acknowledged_by_the_keyboard(page: Page) -> None:
    sign_in(page, "/alerts/")

    page.get_by_label("Select all on this page").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-ticked]")).to_have_text(f"({CAUSES})")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#verdict")).to_contain_text("Nothing needs attention now")
    assert set(states()) == {"acknowledged"}
