"""Lists that change while somebody reads them: nothing moves until it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

from broker.models import Delayed
from broker.queueing.put import put, put_many
from broker.sql import database_now
from broker.transactions.scope import UnitOfWork
from console.accounts import roles
from tests.broker.elsewhere import Background
from tests.console.browsing import (
    arrive,
    opened,
    sign_in,
)
from tests.console.letters import die, make_places
from tests.make import make_messages, make_queue, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

PASSES_MS = 5_100  # until a list looks again
TELLS_MS = 10_100  # until numbers are asked for, or what changed is told
RESTS = {
    "hidden": "() => Object.defineProperty(document, 'hidden', {get: () => true})",
    "paused": "() => document.querySelector('.live-switch').click()",
    "open": "() => document.getElementById('keys').showModal()",
    "selected": "() => document.querySelector('[data-row] input').click()",
}


@pytest.fixture
def waiting(transactional_db: None) -> list[int]:
    """Omar operates; two messages wait for their time."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue("later")
    return [wait(hours=1), wait(hours=2)]


def wait(**how_long: float) -> int:
    at = database_now() + timedelta(**how_long)
    return put("later", b"{}", deliver_at=at).message_id


@pytest.fixture
def page(site: str, waiting: list[int]) -> Iterator[Page]:
    """Whose time passes when a test says so; nothing may go wrong in it."""
    with opened(site) as page:
        page.clock.install()
        yield page


def apart(call: Callable[[], object]) -> None:
    """Where no browser is driven."""
    Background(call).join()


def listed(page: Page) -> list[int]:
    links = page.locator("main [data-row] th a").all_inner_texts()
    return [int(one) for one in links]


def test_what_is_new_is_offered_and_what_is_gone_is_struck_through(
    page: Page, waiting: list[int]
) -> None:
    sign_in(page, "/scheduled/")
    arrive(page, "Scheduled")
    fresh = page.get_by_role("button", name="Refresh")
    page.keyboard.press("j")
    page.keyboard.press("j")

    apart(lambda: wait(minutes=1))  # would be before all others
    page.clock.run_for(PASSES_MS)
    expect(fresh).to_have_text("Refresh +1")
    assert listed(page) == waiting

    apart(Delayed.objects.filter(id=waiting[0]).delete)
    page.clock.run_for(PASSES_MS)
    expect(page.locator("tr.stale")).to_contain_text(str(waiting[0]))
    assert listed(page) == waiting

    page.keyboard.press("r")
    expect(fresh).to_be_hidden()
    expect(page.locator("tr.stale")).to_have_count(0)
    assert listed(page)[1:] == waiting[1:]
    assert listed(page)[0] > waiting[1], "the new one"
    expect(page.get_by_role("link", name=str(waiting[1]), exact=True)).to_be_focused()


def test_who_follows_a_list_has_new_messages_by_themselves(
    page: Page, waiting: list[int]
) -> None:
    sign_in(page, "/messages/")
    arrive(page, "Messages")
    page.get_by_label("Follow: new messages appear by themselves").check()
    before = listed(page)

    apart(lambda: wait(hours=3))
    page.clock.run_for(PASSES_MS)

    expect(page.locator("main [data-row]")).to_have_count(len(before) + 1)
    assert listed(page)[1:] == before
    expect(page.get_by_role("button", name="Refresh")).to_be_hidden()


@pytest.mark.parametrize("why", RESTS)
def test_a_list_rests(page: Page, waiting: list[int], why: str) -> None:
    asked: list[str] = []
    sign_in(page, "/messages/")
    arrive(page, "Messages")
    page.evaluate(RESTS[why])
    page.on("request", lambda request: asked.append(request.url))
    apart(lambda: wait(hours=3))

    page.clock.run_for(3 * PASSES_MS)

    assert [one for one in asked if "/messages/" in one] == []
    expect(page.get_by_role("button", name="Refresh")).to_be_hidden()


def test_pages_change_as_often_as_one_likes(page: Page) -> None:
    """Lists and charts ask every thirty seconds, in place of five and ten."""
    sign_in(page, "/preferences/")
    arrive(page, "Preferences")
    page.get_by_role("button", name="30 s", exact=True).click()
    chosen = page.get_by_role("button", name="30 s", exact=True, pressed=True)
    expect(chosen).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(urlsplit(one.url).path))
    for path, asks in (("/messages/", "/messages/"), ("/queues/later/", "/history/")):
        page.goto(path)
        page.wait_for_load_state()
        expect(page.locator(".live-text")).to_have_text(re.compile("^every 30 s"))
        asked.clear()
        page.clock.run_for(25_000)
        page.evaluate("() => 0")
        assert asks not in asked
        with page.expect_response(re.compile(re.escape(asks))):
            page.clock.run_for(PASSES_MS)  # after more, it gives the answer up


def test_numbers_change_where_they_are_and_rows_do_not(
    page: Page, waiting: list[int]
) -> None:
    apart(make_places)
    apart(die)
    apart(lambda: make_queue("held", paused=True))
    apart(lambda: put("held"))
    sign_in(page, "/")
    arrive(page, "Overview")
    rows = page.locator("main li[data-row]")
    before = rows.evaluate_all("rows => rows.map((row) => row.id)")
    lying = rows.filter(has_text="held: 1 wait")
    expect(lying).to_be_visible()

    apart(lambda: die("KeyError: 'customer'"))
    apart(lambda: put("held"))
    page.clock.run_for(PASSES_MS)

    expect(page.locator("#numbers .tile-dead")).to_contain_text("2")
    expect(rows.filter(has_text="held: 2 wait")).to_be_visible()
    assert rows.evaluate_all("rows => rows.map((row) => row.id)") == before


def test_screen_readers_are_told_now_and_then_what_changed(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    announcer = page.locator("[aria-live=polite]#announcer")
    ready = page.locator("dl [data-slot=ready]")

    apart(lambda: put_many(make_messages(3, "later")))
    page.clock.run_for(TELLS_MS)
    expect(ready).to_have_text("3")
    page.clock.run_for(TELLS_MS)
    expect(announcer).to_contain_text("3 more ready messages, 3 in all.")

    apart(lambda: UnitOfWork().get("later", limit=2))
    page.clock.run_for(TELLS_MS)
    expect(ready).to_have_text("1")
    page.clock.run_for(TELLS_MS)
    expect(announcer).to_contain_text("2 fewer ready messages, 1 in all.")
