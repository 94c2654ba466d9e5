"""The console as people meet it: in a browser, with all that runs behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect, sync_playwright

from broker.models import Message
from broker.operations import start
from broker.put import put
from broker.triage import Letter
from console import roles
from dashboards.models import DeadLetterDay, ReportRun
from tests.broker.elsewhere import process, said
from tests.broker.promising import promise
from tests.console.browsing import (
    arrive,
    chromium,
    complaints_of,
    heading,
    running_console,
    sign_in,
    violations,
    walk_to,
)
from tests.console.letters import attempt, die, make_places
from tests.console.poison import make_payments, poison, remove
from tests.console.test_discards import item, throw_away
from tests.make import make_queue, make_user, minutes, plan_resubmit

pytestmark = pytest.mark.browser

ELSEWHERE = """
from broker.put import put
from broker.unit_of_work import unit_of_work
from dashboards.live import publish_depths

{deed}
publish_depths.apply_async(expires=60)  # the clock that does so is not running
print("done", flush=True)
"""
PUT = 'put("orders", b"{}")'
ACCEPT = """
with unit_of_work(actor="shop.handle") as work:
    work.get("orders", limit=1)
"""
WIDE, NARROW, NARROWEST = 1440, 390, 320  # pixels


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with running_console(tmp_path_factory.mktemp("var")) as url:
        yield url


@pytest.fixture
def letter(transactional_db: None) -> Letter:
    """Omar operates, and a message of orders is dead."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_places(delay_ms=30_000)
    return die()


@pytest.fixture
def page(site: str, letter: Letter) -> Iterator[Page]:
    """A page of a browser, in which nothing may go wrong.

    Playwright has a loop of its own on this thread, and Django's models refuse to work
    beside one: what a test stores, it stores before it asks for a page.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        page = browser.new_page(base_url=site, viewport={"width": WIDE, "height": 900})
        complaints = complaints_of(page)
        yield page
        browser.close()
    assert complaints == []


def test_a_number_changes_by_itself_and_no_row_moves(page: Page) -> None:
    sign_in(page)
    expect(heading(page)).to_have_text("Queues")
    expect(page.locator(".live-text")).to_have_text(re.compile("^live"))
    ready = row(page, "orders").locator("[data-slot$=-ready]")
    expect(ready).to_have_text("0")
    before = places(page)
    loads = loads_of(page)

    in_another_process(PUT)

    expect(ready).to_have_text("1")
    expect(page.locator("dl [data-slot=ready]")).to_have_text("2")
    assert places(page) == before
    assert loads == []


def test_a_dead_letter_is_resubmitted_and_followed_to_its_end(
    page: Page, letter: Letter
) -> None:
    sign_in(page)

    page.get_by_role("link", name=re.compile("^Dead letters 1")).click()
    page.get_by_role("link", name="ValueError: row {n} is bad").click()
    page.get_by_role("link", name=str(letter.message_id)).click()
    expect(page.locator(".verdict")).to_contain_text("ValueError: row 7 is bad")
    page.get_by_role("button", name="Resubmit…").click()
    expect(heading(page)).to_have_text("Resubmit 1 message")
    expect(page.get_by_text("Nothing has been sent yet.")).to_be_visible()
    page.get_by_label("Reason").fill("row 7 is mended")
    page.get_by_role("button", name="Resubmit 1 message").click()
    expect(page.locator(".result")).to_have_text("1 sent")
    expect(page.get_by_text("By now: 1 still on its queue")).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^message \d+$")).click()

    expect(page.locator(".life")).to_have_count(3)
    here = page.locator(".life.is-here")
    expect(here).to_contain_text(f"as a copy of message {letter.message_id}")
    in_another_process(ACCEPT)
    expect(page.locator(".verdict")).to_contain_text("It was accepted on orders")
    expect(here).to_contain_text("Attempt 1 of 2: accepted")


def test_the_keyboard_alone_resubmits_a_dead_letter(page: Page) -> None:
    sign_in(page)
    arrive(page, "Queues")
    press = page.keyboard.press

    press("g")
    press("d")
    arrive(page, "Dead letters")
    press("j")
    press("Enter")
    arrive(page, "ValueError: row {n} is bad")
    press("j")
    press("Enter")
    arrive(page, re.compile("^Message"))
    walk_to(page, "Resubmit…")
    press("Enter")
    arrive(page, "Resubmit 1 message")
    walk_to(page, "Resubmit 1 message")
    press("Enter")
    expect(page.locator(".result")).to_have_text("1 sent")
    walk_to(page, r"message \d+")
    press("Enter")

    expect(page.locator(".verdict")).to_contain_text("It is ready on orders")


@pytest.fixture
def paths(letter: Letter) -> list[str]:
    """Every kind of page, with something on it, after many messages."""
    with connection.cursor() as cursor:
        cursor.execute(  # never back: gets begin at a floor
            "SELECT setval('broker_message_id_seq', greatest(last_value, 987650))"
            " FROM broker_message_id_seq"
        )
    user, now = User.objects.get(), timezone.now()
    put("orders", b'{"row": 7}', content_type="application/json", now=now)
    (waiting,) = attempt("KeyError: 'name'", now=now)
    ended, planned = (plan_resubmit(user, "all dead letters") for _ in range(2))
    start(ended.pk)
    DeadLetterDay.objects.create(
        day=now.date(), queue="orders", cause="REJECTED", dead_letters=3, last_at=now
    )
    ReportRun.objects.create(
        report="dead-letters", state=ReportRun.State.DONE, as_of=now, ended_at=now
    )
    other = die("TypeError: no name", now=now)
    (discarded,) = throw_away()
    make_payments()
    poison(now - minutes(9))
    remove(now=now)
    moved = Message.objects.latest("pk")
    make_queue("bills", backout_threshold=3)
    make_queue("answers")
    branch = promise(entries=0).id
    return [
        "/",
        "/queues/orders/?place=delayed",
        f"/messages/{waiting}/",
        f"/messages/{other.message_id}/",
        f"/messages/{discarded}/",
        f"/messages/{moved.pk}/",
        "/discards/",
        f"/discards/restore/?item={item(discarded)}",
        "/dead/",
        f"/dead/{other.fingerprint}/",
        f"/operations/{planned.pk}/",
        f"/operations/{ended.pk}/",
        "/operations/",
        "/health/",
        f"/health/prepared/{branch}/commit/",
        f"/health/prepared/{branch}/back-out/",
        "/reports/",
        "/reports/dead-letters/",
    ]


def test_nobody_is_shut_out(paths: list[str], page: Page) -> None:
    """Axe finds nothing, in both themes, on screens large and small."""
    page.goto("/")
    found = violations(page)
    sign_in(page)
    for path in paths:
        page.goto(path)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            for width in (WIDE, NARROW):
                page.set_viewport_size({"width": width, "height": 900})
                found += [f"{path} {theme} {width} {one}" for one in violations(page)]

    assert found == []


def test_no_page_is_wider_than_the_smallest_screen(
    paths: list[str], page: Page
) -> None:
    page.set_viewport_size({"width": NARROWEST, "height": 600})
    sign_in(page)
    for path in paths:
        page.goto(path)
        wide = page.evaluate(
            "() => [...document.querySelectorAll(':root, .table-wrap')]"
            ".filter((one) => one.scrollWidth > one.clientWidth)"
            ".map((one) => one.outerHTML.slice(0, 200))"
        )
        assert (path, wide) == (path, [])


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name))


def places(page: Page) -> list[tuple[str, object]]:
    """Every row of a list by its name, and where it is."""
    rows = page.locator("[data-row]").all()
    return [(one.locator("th").inner_text(), one.bounding_box()) for one in rows]


def loads_of(page: Page) -> list[Page]:
    """Every load of a page from now on."""
    loads: list[Page] = []
    page.on("load", lambda loaded: loads.append(loaded))
    return loads


def in_another_process(deed: str) -> None:
    with process(ELSEWHERE.format(deed=deed)) as other:
        assert said(other) == "done"
