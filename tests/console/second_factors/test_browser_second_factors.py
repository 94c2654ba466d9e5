"""The second factor in a browser: an app, a security key of Chromium's, all pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.console import looking
from tests.console.browsing import arrive, heading, opened, sign_in
from tests.console.filled import omar
from tests.console.looking import Screen
from tests.console.second_factors.factors import code_now

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

FACTORS = "/preferences/second-factor/"
SCREENS = (Screen("light", 1440), Screen("dark", 390))
KEY = {
    "protocol": "ctap2",
    "transport": "usb",
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def person(transactional_db: None) -> User:
    return omar()


@contextmanager
def page_with_key(site: str) -> Iterator[Page]:
    """A page of a browser that has a security key, at a host that keys answer."""
    with opened(site.replace("127.0.0.1", "localhost")) as page:
        wire = page.context.new_cdp_session(page)
        wire.send("WebAuthn.enable")
        wire.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
        yield page


def look(page: Page) -> list[str]:
    """What is wrong with a page, by day and large, by night and small."""
    found = looking.tab_faults(page) + looking.frame_faults(page)
    for screen in SCREENS:
        screen.show(page)
        found += looking.too_wide(page) + looking.faults(page, screen)
    SCREENS[0].show(page)
    return [f"{page.url}: {one}" for one in found]


def give_password(page: Page) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("omar")
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    arrive(page, "Second factor")


def sign_out(page: Page) -> None:
    page.locator("summary", has_text="omar").click()
    page.get_by_role("button", name="Sign out").click()
    arrive(page, "Sign in")


def add_key(page: Page, name: str) -> None:
    page.goto(f"{FACTORS}keys/add/")
    page.get_by_label("Name").fill(name)
    page.keyboard.press("Enter")


def name_and_remove(page: Page) -> list[str]:
    """What is wrong with the pages of one's only key."""
    page.goto(FACTORS)
    page.get_by_role("link", name=re.compile("^Name")).click()
    arrive(page, "Name a security key")
    found = look(page)
    page.get_by_label("Name").fill("Red key")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Remove… Red key").click()
    arrive(page, "Remove a security key")
    found += look(page)
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("The security key is removed.")).to_be_visible()
    return found


def test_a_key_is_added_and_signs_in(person: User, site: str) -> None:
    with page_with_key(site) as page:
        sign_in(page)
        page.goto("/preferences/")
        page.get_by_role("link", name="Set up a second factor").click()
        page.get_by_role("link", name="Add a security key").click()
        arrive(page, "Add a security key")
        found = look(page)
        add_key(page, "Blue <b>key")
        arrive(page, "Recovery codes")
        found += look(page)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download them").click()
        assert len(download.value.path().read_text().split()) == 10
        page.get_by_role("link", name="I have them").click()
        expect(page.get_by_role("row", name="Blue <b>key")).to_be_visible()
        found += look(page)
        add_key(page, "The same")
        expect(page.locator("[data-said]")).to_have_text("This key is added already.")

        sign_out(page)
        give_password(page)
        found += look(page)
        page.get_by_role("button", name="Use a security key").click()
        arrive(page, "Overview")

        found += name_and_remove(page)
        assert found == []


def test_an_app_is_set_up_and_signs_in_without_scripts(person: User, site: str) -> None:
    with opened(site, java_script_enabled=False) as page:
        sign_in(page)
        page.goto(f"{FACTORS}app/")
        expect(page.get_by_role("img", name="A QR code")).to_be_visible()
        secret = page.locator(".secret").inner_text()
        page.get_by_label("Code").fill(code_now(secret, steps=-1))
        page.keyboard.press("Enter")
        expect(heading(page)).to_have_text("Recovery codes")
        recovery = page.locator(".codes li").first.inner_text()
        sign_out(page)
        give_password(page)
        page.get_by_label("Code").fill(recovery)
        page.keyboard.press("Enter")
        expect(heading(page)).to_have_text("Overview")
        sign_out(page)
        give_password(page)
        page.get_by_label("Code").fill(code_now(secret))
        page.keyboard.press("Enter")
        expect(heading(page)).to_have_text("Overview")


def test_pages_of_the_app_and_of_codes_shut_nobody_out(person: User, site: str) -> None:
    with opened(site) as page:
        sign_in(page)
        page.goto(f"{FACTORS}app/")
        found = look(page)
        code = code_now(page.locator(".secret").inner_text())
        page.get_by_label("Code").fill(code)
        page.keyboard.press("Enter")
        arrive(page, "Recovery codes")
        for path in ("app/remove/", "codes/", "codes/new/"):
            page.goto(FACTORS + path)
            found += look(page)
        sign_out(page)
        give_password(page)
        page.get_by_label("Code").fill(code)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("used before")
        found += look(page)
        assert found == []
