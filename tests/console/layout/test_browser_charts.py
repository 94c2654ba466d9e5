"""From a chart to the messages, in a browser: a time is selected, and leads to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Locator, Page, expect

from broker.models import HistorySample
from broker.monitoring.history import packing
from broker.queueing.put import put
from broker.sql import database_now
from console.accounts import roles
from tests.console.browsing import arrive, opened, sign_in
from tests.make import make_queue, make_user, minutes, seconds

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

STEP_S = 10
PUT_AFTER_S = (35, 65, 125, 155)  # since the chart begins; a time has the two between
FIRST, LAST = 6, 12  # steps of the selected time
PLACE_OF_STEP = """
(svg, step) => {
  const { left, top, width, height } = svg.getBoundingClientRect();
  const last = document.querySelectorAll("#over-time tbody tr").length - 1;
  const from = Number(svg.dataset.left);
  const x = from + ((svg.dataset.right - from) * step) / last;
  return [left + (x * width) / svg.viewBox.baseVal.width, top + height / 2];
}
"""


@pytest.fixture
def begin(transactional_db: None) -> datetime:
    """Since when the chart shows; Omar operates, and four messages came after it."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    begin = database_now().astimezone(UTC).replace(second=0, microsecond=0)
    begin -= minutes(10)
    queue = make_queue("orders")
    for step in range(30):
        counts = packing.packed({queue.pk: [step] * len(packing.FIELDS)})
        at = begin + seconds(STEP_S * (step + 1))
        HistorySample.objects.create(
            period_s=STEP_S, at=at, span_s=STEP_S, counts=counts
        )
    for after_s in PUT_AFTER_S:
        put("orders", now=begin + seconds(after_s))
    return begin


@pytest.fixture
def page(site: str, begin: datetime) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site) as page:
        sign_in(page)
        shown = {"from": written(begin), "to": written(begin + timedelta(minutes=5))}
        page.goto(f"/queues/orders/?{urlencode(shown)}")
        arrive(page, "orders")
        yield page


def written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def chart(page: Page) -> Locator:
    return page.locator(".over-time .bars-wrap").first


def expect_the_two_between(page: Page, begin: datetime) -> None:
    arrive(page, "Messages")
    term = f"at:{written(begin + seconds(60))}..{written(begin + seconds(130))}"
    expect(page.locator("main")).to_contain_text(term)
    rows = page.locator("main [data-row]")
    expect(rows).to_have_count(2)
    for n, after_s in enumerate((125, 65)):
        at = begin + seconds(after_s)
        expect(rows.nth(n)).to_contain_text(f"{at:%H:%M:%S}.000")


def test_a_time_that_is_dragged_leads_to_its_messages(
    page: Page, begin: datetime
) -> None:
    svg = chart(page).locator("svg")
    svg.scroll_into_view_if_needed()
    first, last = (svg.evaluate(PLACE_OF_STEP, one) for one in (FIRST, LAST))

    page.mouse.move(*last)
    page.mouse.down()
    page.mouse.move(*first, steps=5)
    page.mouse.up()
    expect(svg.locator(".bars-selected")).to_have_count(1)
    page.get_by_role("link", name="Messages put in this time").click()

    expect_the_two_between(page, begin)


def test_a_time_that_is_selected_by_keys_leads_to_its_messages(
    page: Page, begin: datetime
) -> None:
    chart(page).focus()
    for key in ("Home", *["ArrowRight"] * FIRST):
        page.keyboard.press(key)
    expect(page.locator("#announcer")).to_contain_text("Until")
    expect(page.get_by_role("link", name="Messages put in this time")).to_be_hidden()

    for _ in range(LAST - FIRST):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+Tab")
    way = page.get_by_role("link", name="Messages put in this time")
    expect(way).to_be_focused()
    page.keyboard.press("Enter")

    expect_the_two_between(page, begin)


def test_on_a_phone_the_first_message_is_seen_at_once(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/queues/orders/")
    arrive(page, "orders")

    first = page.locator("main [data-row]").first.bounding_box()

    assert first
    assert first["y"] + first["height"] < 844
    page.get_by_role("link", name="Charts").click()
    expect(page.locator("#over-time")).to_be_in_viewport()
