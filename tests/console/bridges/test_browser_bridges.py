"""Links of bridges in a browser: they change while one looks, and keys operate them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.models import Link, LinkStatus
from console.accounts import roles
from tests.broker.elsewhere import Background
from tests.console.bridging import beat, die_of_link, fail, make_link, stand
from tests.console.browsing import (
    arrive,
    heading,
    opened,
    sign_in,
    violations,
    walk_to,
)
from tests.console.until import until
from tests.make import make_queue, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

ERROR = "stomp-east: nobody answers."


@pytest.fixture
def link(transactional_db: None) -> Link:
    """Omar operates a link that is at work."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue()
    made = make_link()
    stand(made, "STARTED", sent=1000, received=1000)
    die_of_link(made)
    beat()
    return made


@pytest.fixture
def page(site: str, link: Link) -> Iterator[Page]:
    with opened(site) as page:
        yield page


def apart(call: Callable[[], object]) -> None:
    """Where no browser is driven."""
    Background(call).join()


def test_the_page_of_a_link_changes_while_one_looks(page: Page, link: Link) -> None:
    sign_in(page, "/bridges/shop/out/")
    arrive(page, "shop/out")
    sent = page.locator(f'.way [data-slot="link-{link.pk}-sent"]')
    expect(sent).to_have_text("1,000")

    apart(lambda: stand(link, "STARTED", sent=1234))
    expect(sent).to_have_text("1,234")

    page.get_by_role("link", name="Pause").focus()
    apart(lambda: fail(link, ERROR))
    expect(page.locator(".subline .chip")).to_have_text("failed")
    expect(page.locator(".error-text")).to_have_text(ERROR)
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.get_by_role("link", name="Pause")).to_have_count(0)
    assert violations(page) == []


def test_a_failed_link_is_found_and_started_by_keys_alone(
    page: Page, link: Link
) -> None:
    apart(lambda: fail(link, ERROR))
    sign_in(page, "/")
    arrive(page, "Overview")
    expect(page.locator(".alarm")).to_contain_text("A link has failed: shop/out")

    page.keyboard.press("g")
    page.keyboard.press("l")
    arrive(page, "Bridges")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("Failed")
    walk_to(page, r"Start\s+shop/out")
    page.keyboard.press("Enter")

    expect(page.locator("#notices")).to_contain_text("is ordered to start")
    expect(heading(page)).to_have_text("Bridges")
    expect(page.locator("main .chip")).to_have_text("starting")
    apart(lambda: until(lambda: LinkStatus.objects.get().wanted == "STARTED"))


def test_dead_messages_are_planned_to_go_through_the_link(
    page: Page, link: Link
) -> None:
    sign_in(page, "/bridges/shop/out/")
    arrive(page, "shop/out")

    walk_to(page, "Resubmit 1 through the link…")
    page.keyboard.press("Enter")

    expect(heading(page)).to_contain_text("Move 1 message to bridge.shop.out.resubmit")
