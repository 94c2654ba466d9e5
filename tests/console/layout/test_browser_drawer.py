"""A message beside its list, in a browser: opened, sent to somebody, and closed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Locator, Page, expect

from broker.monitoring.dead_letters import Letter
from console.accounts import roles
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    violations,
)
from tests.console.letters import die, make_places
from tests.make import make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

LIST = "/messages/?f=state%3Adead"


@pytest.fixture
def letters(transactional_db: None) -> list[Letter]:
    """Omar operates; two of orders are dead, the newest first."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places()
    return [die(subject="first"), die(subject="second")][::-1]


@pytest.fixture
def page(site: str, letters: list[Letter]) -> Iterator[Page]:
    with opened(site) as page:
        yield page


def drawer(page: Page) -> Locator:
    return page.locator(".drawer")


def row(page: Page, letter: Letter) -> Locator:
    return page.locator(f'[data-row] a[href="/messages/{letter.message_id}/"]')


def test_the_keyboard_alone_reads_one_message_after_the_other(
    page: Page, letters: list[Letter]
) -> None:
    sign_in(page, LIST)
    arrive(page, "Messages")
    press = page.keyboard.press

    press("j")
    press("o")

    first, second = letters
    expect(drawer(page).locator(".drawer-title")).to_have_text(
        f"Message {first.origin_id}"
    )
    expect(drawer(page).locator(":focus")).to_have_text("Open its page")
    expect(page).to_have_url(f"{LIST}&m={first.message_id}")
    press("Escape")
    expect(drawer(page)).to_be_hidden()
    expect(row(page, first)).to_be_focused()
    expect(page).to_have_url(LIST)
    press("j")
    press("Enter")
    expect(drawer(page)).to_contain_text(f"Message {second.origin_id}")
    press("Enter")
    arrive(page, f"Message {second.origin_id}")


def test_who_is_sent_the_address_sees_the_same(
    page: Page, letters: list[Letter]
) -> None:
    sign_in(page, f"{LIST}&m={letters[1].message_id}")

    expect(drawer(page)).to_contain_text("is a dead letter on")
    expect(page.locator("main [data-row]")).to_have_count(2)
    assert violations(page) == []

    drawer(page).get_by_role("button", name="Resubmit").click()
    arrive(page, "Resubmit 1 message")


def test_back_closes_it(page: Page, letters: list[Letter]) -> None:
    sign_in(page, LIST)
    arrive(page, "Messages")
    row(page, letters[0]).click()
    expect(drawer(page)).to_be_visible()
    row(page, letters[1]).click()
    expect(drawer(page)).to_contain_text(f"Message {letters[1].origin_id}")

    page.go_back()
    expect(drawer(page)).to_contain_text(f"Message {letters[0].origin_id}")
    page.go_back()

    expect(drawer(page)).to_be_hidden()


def test_on_a_small_screen_a_message_has_a_page_of_its_own(
    page: Page, letters: list[Letter]
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    sign_in(page, LIST)
    arrive(page, "Messages")

    row(page, letters[0]).click()

    arrive(page, f"Message {letters[0].origin_id}")


def test_what_is_not_there_says_so(page: Page) -> None:
    sign_in(page, "/messages/?m=x")
    arrive(page, "Messages")
    expect(drawer(page)).to_be_hidden()
