"""Clients on the wire, in a browser: who is there, closing one, making a credential."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.models import ClientConnection
from console.accounts import roles
from tests.broker.elsewhere import process, said
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    violations,
    walk_to,
)
from tests.console.edges.wire import (
    make_client,
    make_credential,
    make_endpoint,
    make_listener,
)
from tests.console.looking import Screen
from tests.make import make_queue, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

WORK = """
from broker.models import ClientEndpoint
ClientEndpoint.objects.filter(name="rcv-1").update(messages=4712, unsettled=8)
print("done", flush=True)
"""
OBEY = """
from broker.models import ClientConnection
ClientConnection.objects.exclude(close_requested_at=None).delete()
print("done", flush=True)
"""
WIDE, TABLET, NARROW, NARROWEST = 1440, 1024, 390, 320  # pixels


@pytest.fixture
def shop(transactional_db: None) -> ClientConnection:
    """Omar administers; the shop gets and puts, and somebody strange is there, too."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["administrator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_listener()
    make_queue("orders")
    credential = make_credential("shop", omar)
    make_credential("mail", omar, patterns="mail.#\neu.mail.#")
    shop = make_client(user=omar, credential=credential)
    make_endpoint(shop, "orders", name="rcv-1", credit=90, unsettled=10, messages=4711)
    make_endpoint(shop, "", name="anyone", session=2)
    make_client(user=omar, host="10.0.0.8:50124")  # another of the same name
    long = "x" * 255
    make_endpoint(make_client(long, product=long, is_encrypted=False), long, name=long)
    return shop


@pytest.fixture
def page(site: str, shop: ClientConnection) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site) as page:
        yield page


def elsewhere(script: str) -> None:
    with process(script) as other:
        assert said(other).endswith("done")


def test_the_keyboard_alone_closes_a_connection(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    page.keyboard.press("g")
    page.keyboard.press("n")
    arrive(page, "Connections")
    elsewhere(WORK)
    row = page.get_by_role("row", name="rcv-1")
    expect(row).to_contain_text("4,712")

    page.keyboard.press("j")
    page.keyboard.press("Enter")
    arrive(page, "shop-7")
    walk_to(page, r"Close…\s+the connection of shop-7 from [\d.:]+")
    page.keyboard.press("Enter")
    arrive(page, "Close the connection of shop-7")
    page.get_by_label("Reason").fill("it hangs")
    walk_to(page, "Close the connection")
    page.keyboard.press("Enter")

    asked = "Asked to close: the listener does so within a second."
    expect(page.get_by_text(asked)).to_be_visible()
    expect(page.locator(".asked")).to_contain_text("asked to close")
    elsewhere(OBEY)
    expect(page.get_by_text("This connection has ended.")).to_be_visible()


def test_a_list_of_clients_is_filtered_and_stays_so(page: Page) -> None:
    sign_in(page, "/connections/")
    arrive(page, "Connections")
    page.keyboard.press("/")
    page.keyboard.type("rcv-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/connections/?q=rcv-1")
    expect(page.locator("#connections > article")).to_have_count(1)
    elsewhere(WORK)
    row = page.get_by_role("row", name="rcv-1")
    expect(row).to_contain_text("4,712")
    expect(page.locator("#connections > article")).to_have_count(1)


def test_a_credential_is_made_and_its_secret_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, "/credentials/")
    arrive(page, "Credentials")
    walk_to(page, "New credential…")
    page.keyboard.press("Enter")
    arrive(page, "New credential")
    page.get_by_label("Name").fill("billing")
    page.get_by_label("User").select_option(label="omar")
    page.get_by_role("checkbox", name="Browse").uncheck()
    page.get_by_role("button", name="Create it and show its secret").click()
    arrive(page, "billing is made")

    page.get_by_role("button", name="Copy the secret").click()

    told = page.get_by_role("region", name="Its secret").get_by_role("status")
    expect(told).to_have_text("Copied.")
    secret = page.locator("#secret").inner_text()
    assert page.evaluate("() => navigator.clipboard.readText()") == secret
    assert violations_everywhere(page) == []
    page.get_by_role("link", name="I have stored it").click()
    expect(page.get_by_role("row", name=re.compile("^billing"))).to_be_visible()
    assert secret not in page.content()


def test_its_pages_shut_nobody_out(page: Page, shop: ClientConnection) -> None:
    sign_in(page, "/connections/")
    arrive(page, "Connections")
    found = violations_everywhere(page)
    for path in (
        "/connections/?q=nothing",
        f"/connections/{shop.pk}/",
        f"/connections/{shop.pk}/close/",
        "/credentials/",
        "/credentials/new/",
    ):
        page.goto(path)
        found += violations_everywhere(page)
    assert found == []


def violations_everywhere(page: Page) -> list[str]:
    """What is wrong with a page, wide by day or narrow by night; too wide, for one."""
    found = []
    for screen in (Screen("light", WIDE), Screen("dark", NARROW)):
        screen.show(page)
        found += [f"{screen} {one}" for one in violations(page)]
    for width, whose in ((TABLET, ":root"), (NARROWEST, ":root, .table-wrap")):
        page.set_viewport_size({"width": width, "height": 600})
        found += page.evaluate(
            "(whose) => [...document.querySelectorAll(whose)]"
            ".filter((one) => one.scrollWidth > one.clientWidth)"
            ".map((one) => one.outerHTML.slice(0, 200))",
            whose,
        )
    page.set_viewport_size({"width": WIDE, "height": 900})
    return found
