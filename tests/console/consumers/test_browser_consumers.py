"""Delivery that stops, in a browser: the alarm, the reason, the remedy, the start."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.queueing.put import put
from console.accounts import roles
from tests.broker.elsewhere import process, said
from tests.broker.handling import Seen, broken, handler
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
    violations,
    walk_to,
)
from tests.make import make_queue, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

SERVE = """
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.server_session import ServerSession
from broker.client.dispatch.handlers import Handler
from dashboards.tasks import publish_depths

consumer = ConnectionConsumer.open(Handler("orders", print, True, 1, 1))
ServerSession(consumer).serve()
publish_depths.apply_async(expires=60)  # the clock that does so is not running
print("done", flush=True)
"""
MAKE_ROOM = """
from broker.models import Queue
Queue.objects.update(max_depth=None)
print("done", flush=True)
"""
WIDE, NARROW, NARROWEST = 1440, 390, 320  # pixels


@pytest.fixture
def _bad_news(transactional_db: None) -> None:
    """Omar operates; orders has a message that cannot be read, and no way out."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue("orders")
    make_queue("SYSTEM.DEAD.LETTER.QUEUE", max_depth=0)
    ConnectionConsumer.open(
        handler(Seen(), selector="amount > 1000 AND country IN ('DE', 'FR')")
    )
    ConnectionConsumer.open(handler(Seen(), concurrency=4))
    broken()
    put("orders", b"{}")


@pytest.fixture
def page(site: str, _bad_news: None) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site) as page:
        yield page


def elsewhere(script: str) -> None:
    with process(script) as other:
        assert said(other).endswith("done")


@pytest.mark.spec("ASF-11")
def test_an_operator_is_alarmed_learns_why_and_starts_delivery_again(
    page: Page,
) -> None:
    sign_in(page)
    arrive(page, "Queues")
    expect(page.locator(".live-text")).to_have_text(re.compile("^live"))
    alarm = page.locator(".alarm")
    expect(alarm).to_have_count(0)

    elsewhere(SERVE)

    expect(alarm).to_contain_text("Delivery has stopped from orders")
    expect(page.get_by_role("row", name="orders")).to_contain_text("delivery stopped")
    walk_to(page, "See why, and what to do")
    page.keyboard.press("Enter")
    arrive(page, "Consumers")
    card = page.locator(".verdict")
    expect(card).to_contain_text("has headers that cannot be read")
    expect(card).to_contain_text("Make room on SYSTEM.DEAD.LETTER.QUEUE")

    elsewhere(MAKE_ROOM)
    walk_to(page, r"Start delivery again\s+from orders")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Delivery from orders starts again.")).to_be_visible()
    expect(alarm).to_have_count(0)
    expect(card).to_have_count(0)


def test_the_page_of_consumers_shuts_nobody_out(page: Page) -> None:
    elsewhere(SERVE)
    sign_in(page, "/consumers/")
    arrive(page, "Consumers")
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"{theme} {width} {one}" for one in violations(page)]
    assert found == []
    page.set_viewport_size({"width": NARROWEST, "height": 600})
    wide = page.evaluate(
        "() => [...document.querySelectorAll(':root, .table-wrap')]"
        ".filter((one) => one.scrollWidth > one.clientWidth)"
        ".map((one) => one.outerHTML.slice(0, 200))"
    )
    assert wide == []
