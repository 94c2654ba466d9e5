"""Settings in a browser: one address asked about, and a document taken over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from console.accounts import roles
from tests.console.browsing import (
    LONGEST_WALK,
    arrive,
    bring_axe,
    opened,
    sign_in,
    violations,
    walk_to,
)
from tests.make import make_queue, make_setting, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

WIDE, NARROW, NARROWEST = 1440, 390, 320  # pixels
LIMITED = "/settings/effective/?address=orders.eu"
ENDLESS = "/settings/effective/?address=orders.us"
XML = """<address-settings><address-setting match="orders.#">
<max-delivery-attempts>9</max-delivery-attempts><max-size-bytes>1</max-size-bytes>
</address-setting></address-settings>"""


@pytest.fixture
def _policy(transactional_db: None) -> None:
    """Omar administers; addresses have settings of every kind."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["administrator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.is_staff = True
    omar.save(update_fields=["password", "is_staff"])
    make_queue("orders.eu", backout_threshold=3, backout_queue="poison")
    make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ", max_delivery_attempts=-1)
    make_setting(
        "orders.#",
        redelivery_delay_ms=5000,
        redelivery_delay_multiplier=1.5,
        redelivery_collision_avoidance_factor=0.3,
        max_redelivery_delay_ms=50_000,
    )
    make_setting("orders.eu", max_delivery_attempts=8, dead_letter_queue_prefix="")


@pytest.fixture
def page(site: str, _policy: None) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site) as page:
        yield page


def test_the_keyboard_alone_asks_about_an_address(page: Page) -> None:
    sign_in(page, "/settings/effective/")
    arrive(page, "Settings in effect")

    page.get_by_role("combobox", name="Address").focus()
    page.keyboard.type("orders.eu")
    page.keyboard.press("Enter")
    arrive(page, "Settings of orders.eu")
    expect(page.get_by_text("After the 8th failed delivery")).to_be_visible()
    expect(page.locator(".stair")).to_have_count(7)
    walk_to(page, r"orders\.eu")
    page.keyboard.press("Enter")

    arrive(page, "Change address setting")


def test_a_page_of_settings_works_without_scripts(site: str, page: Page) -> None:
    sign_in(page, LIMITED)
    state = page.context.storage_state()
    browser = page.context.browser
    assert browser is not None
    plain = browser.new_context(
        java_script_enabled=False, storage_state=state, base_url=site
    ).new_page()

    plain.goto("/settings/effective/")
    plain.get_by_role("link", name="orders.eu").click()

    expect(plain.locator(".stair")).to_have_count(7)
    expect(plain.get_by_role("rowheader", name="7th")).to_be_visible()


def test_nobody_is_shut_out_of_settings(page: Page) -> None:
    """Axe finds nothing, in both themes, on screens large and small; none is wider
    than the smallest."""
    sign_in(page, "/settings/effective/")
    found, wide = [], []
    for path in ("/settings/effective/", LIMITED, ENDLESS):
        page.goto(path)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            for width in (WIDE, NARROW):
                page.set_viewport_size({"width": width, "height": 900})
                found += [f"{path} {theme} {width} {one}" for one in violations(page)]
        page.set_viewport_size({"width": NARROWEST, "height": 600})
        wide += page.evaluate(
            "() => [...document.querySelectorAll(':root, .table-wrap')]"
            ".filter((one) => one.scrollWidth > one.clientWidth)"
            ".map((one) => one.outerHTML.slice(0, 200))"
        )

    assert found == []
    assert wide == []


def test_a_document_is_uploaded_looked_at_and_applied(
    page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "broker.xml"
    file.write_text(XML)
    sign_in(page, "/admin/broker/addresssetting/")

    page.get_by_role("link", name="Import").click()
    page.get_by_label("File:").set_input_files(file)
    found = rules_broken(page)
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_text("0 added, 1 changed, 0 removed")).to_be_visible()
    expect(page.get_by_text("max-size-bytes 1 of orders.#")).to_be_visible()
    found += rules_broken(page)
    page.get_by_role("button", name="Apply").click()

    expect(page.get_by_text("Imported: 1 changed.")).to_be_visible()
    page.goto(ENDLESS)
    expect(page.get_by_text("After the 9th failed delivery")).to_be_visible()
    assert found == []


def test_a_list_acts_on_what_is_ticked_and_is_cards_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": NARROW, "height": 900})
    sign_in(page, "/admin/broker/addresssetting/")
    row = page.locator("#result_list tr").filter(has_text="orders.eu")
    delete = page.get_by_role("button", name="Delete selected address settings")
    expect(delete).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") == NARROW
    label = "(cell) => getComputedStyle(cell, '::before').content"
    attempts = row.locator(".field-max_delivery_attempts")
    assert attempts.evaluate(label) == '"max delivery attempts"'

    row.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("1 of 3 selected")).to_be_visible()
    page.keyboard.press("Enter")  # in the box: it acts on nothing
    expect(page.get_by_text("No action selected.")).to_be_visible()
    row.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    expect(delete).to_be_visible()
    assert rules_broken(page) == []
    walk_back_to(page, "Delete selected address settings")
    page.keyboard.press("Enter")

    expect(page.get_by_text("Are you sure you want to delete")).to_be_visible()


def walk_back_to(page: Page, words: str) -> None:
    """Press Shift+Tab until what has the focus says these words."""
    for _ in range(LONGEST_WALK):
        page.keyboard.press("Shift+Tab")
        if page.locator(":focus").inner_text().strip() == words:
            return
    raise AssertionError(f"no key leads back to {words}")


def rules_broken(page: Page) -> list[str]:
    """What axe has against a page of the admin, whose style sheets import others: to
    fetch those, axe would have to break the policy of contents."""
    bring_axe(page)
    broken: list[str] = page.evaluate(
        "async () => (await axe.run({preload: false})).violations.map((one) => one.id)"
    )
    return broken
