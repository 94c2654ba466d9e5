"""A new link in a browser: by keys alone, its connection tested before it is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.models import Link
from console.accounts import roles
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.console.bridges.test_browser_bridges import apart
from tests.console.browsing import LONGEST_WALK, arrive, opened, sign_in, walk_to
from tests.make import make_queue, make_user

pytestmark = [pytest.mark.browser]


@pytest.fixture
def elsewhere(transactional_db: None) -> Iterator[Listening]:
    """Omar administers; another broker speaks AMQP 1.0."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["administrator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue()
    with listener() as listening:
        yield listening


@pytest.fixture
def page(site: str, elsewhere: Listening) -> Iterator[Page]:
    with opened(site) as page:
        yield page


def type_in(page: Page, name: str, text: str) -> None:
    """Press Tab until the field of this name has the focus, and type."""
    for _ in range(LONGEST_WALK):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.name") == name:
            page.keyboard.type(text)
            return
    raise AssertionError(f"no key leads to {name}")


def test_a_link_is_made_by_keys_alone(page: Page, elsewhere: Listening) -> None:
    sign_in(page, "/bridges/")
    arrive(page, "Bridges")
    walk_to(page, "New link…")
    page.keyboard.press("Enter")
    arrive(page, "New link")

    expect(page.get_by_label("Host").first).to_be_hidden()  # this broker needs none
    type_in(page, "source-name", "orders")
    type_in(page, "target-host", elsewhere.host)
    type_in(page, "target-port", str(elsewhere.port))
    type_in(page, "target-username", "amelia")
    type_in(page, "target-password", "wrong")
    walk_to(page, "Test the connection")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text(["Not connected. The provider"])

    page.keyboard.press("Shift+Tab")  # TLS
    page.keyboard.press("Shift+Tab")
    page.keyboard.type(PASSWORD)  # the field is selected by the key
    walk_to(page, "Test the connection")
    page.keyboard.press("Enter")
    expect(page.get_by_text("and logged in as amelia.")).to_be_visible()
    type_in(page, "link-name", "out")
    walk_to(page, "Create link")
    page.keyboard.press("Enter")

    arrive(page, "main/out")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    apart(lambda: Link.objects.get(bridge__name="main", name="out"))
