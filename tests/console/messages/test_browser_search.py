"""A search in a browser that goes on by itself, and stops when it is told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from broker.queueing.put import put_many
from console.accounts import roles
from tests.console.browsing import arrive, opened, running_console, sign_in
from tests.console.conftest import KEPT, empty_unblocked
from tests.make import make_messages, make_queue, make_user

pytestmark = pytest.mark.browser

SERVED = "tests.console.messages.small_slices:application"


@pytest.fixture(scope="module")
def slow_site(
    _site_ends_before_the_database: None,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """A console of its own, as a search takes many slices there; its URL."""
    KEPT.stop()
    var = tmp_path_factory.mktemp("var")
    with running_console(var, ("web",), SERVED) as url:
        yield url
    empty_unblocked(django_db_blocker)


@pytest.fixture
def many(transactional_db: None) -> None:
    """Omar operates; of the bodies 1 to 200, twelve have 19 in them: ten of the newest,
    and two that are deep down."""
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue("orders")
    put_many(make_messages(200))


@pytest.fixture
def page(slow_site: str, many: None) -> Iterator[Page]:
    """Whose time passes when a test says so: a search rests between two slices."""
    with opened(slow_site) as page:
        page.clock.install(time=0)
        page.clock.pause_at(3_600)
        yield page


def test_a_search_goes_on_by_itself_until_one_stops_it(page: Page) -> None:
    sign_in(page, "/messages/?f=body%3A19")
    arrive(page, "Messages")
    url = page.url
    rows, bar = page.locator(".found tbody tr"), page.locator("[data-search]")
    expect(bar).to_contain_text("Looked at 40 of about 200 messages")
    expect(rows).to_have_count(10)
    expect(page.get_by_role("link", name="Go on with older ones")).to_be_hidden()
    rows.first.get_by_role("checkbox").check()

    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("Search stopped.")
    page.clock.run_for(5_000)
    expect(rows).to_have_count(10)

    page.get_by_role("button", name="Go on").click()
    page.clock.resume()
    expect(rows).to_have_count(12)
    expect(bar).to_have_count(0)
    expect(page.locator(".subline")).to_have_text(
        "12 match, on all queues that you may see"
    )
    expect(page.locator(".pager")).to_contain_text("Looked at 200 messages")
    expect(page.locator("#announcer")).to_contain_text("Search ended. 12 shown")
    assert page.url == url

    expect(page.locator("[data-ticked]")).to_have_text(" (1)")
    expect(page.locator("[data-all]")).to_be_hidden()
    rows.last.get_by_role("checkbox").check()
    expect(page.locator("[data-ticked]")).to_have_text(" (2)")
    rows.last.locator("th a").click()
    expect(page.locator(".drawer")).to_be_visible()


def test_a_search_that_fails_says_so_and_can_go_on(page: Page) -> None:
    page.route("**/messages/?*slice=*", lambda route: route.fulfill(body=""))
    sign_in(page, "/messages/?f=body%3Anowhere")
    arrive(page, "Messages")
    bar = page.locator("[data-search]")
    expect(bar).to_contain_text("The search stopped: the server does not answer it.")

    page.unroute("**/messages/?*slice=*")
    page.get_by_role("button", name="Go on").click()
    page.clock.resume()
    expect(page.locator(".empty")).to_contain_text("No messages match.")
    expect(bar).to_have_count(0)
