"""Your rights in a browser: found by the menu, and shut to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from playwright.sync_api import Page, expect

from broker.models import Authority
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    violations,
)
from tests.make import make_queue, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

WIDE, NARROW, NARROWEST = 1440, 390, 320  # pixels


@pytest.fixture
def page(site: str, transactional_db: None) -> Iterator[Page]:
    """Omar operates the queues of orders, and sees another; nothing goes wrong."""
    omar = make_user("omar", granted=("inquire",), pattern="pay")
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    operators = Group.objects.get(name="operator")
    omar.groups.add(operators)
    narrowed = Authority.objects.filter(group=operators)
    narrowed.update(pattern="orders.#")
    for name in ("orders.new", "orders.eu.returned", "pay"):
        make_queue(name)
    with opened(site) as page:
        yield page
    narrowed.update(pattern="#")


def test_the_menu_leads_to_what_one_may(page: Page) -> None:
    sign_in(page, "/queues/pay/")

    page.get_by_text("omar").first.click()
    page.get_by_role("link", name="Your rights").click()

    arrive(page, "Your rights")
    row = page.get_by_role("row").filter(has_text="Pause, resume, reset counters")
    expect(row).to_contain_text("you have it on orders.#")
    page.get_by_role("searchbox", name="A queue’s name").fill("orders.eu.returned")
    page.keyboard.press("Enter")
    expect(page.get_by_role("rowheader", name="orders.eu.returned")).to_be_visible()


def test_nobody_is_shut_out_of_their_rights(page: Page) -> None:
    """Axe finds nothing, in both themes, on screens large and small; none is wider
    than the smallest."""
    sign_in(page, "/rights/")
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"{theme} {width} {one}" for one in violations(page)]
    page.set_viewport_size({"width": NARROWEST, "height": 600})
    wide = page.evaluate(
        "() => [...document.querySelectorAll(':root, .table-wrap')]"
        ".filter((one) => one.scrollWidth > one.clientWidth)"
        ".map((one) => one.outerHTML.slice(0, 200))"
    )

    assert found == []
    assert wide == []
