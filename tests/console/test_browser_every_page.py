"""Every page in a browser, by day and by night, large and small: nobody is shut out.

``python -m tests.console.pictures`` looks at each in all ways, and takes pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.console import looking
from tests.console.browsing import launched, sign_in
from tests.console.filled import Paths, empty, fill, omar, settings_paths
from tests.console.looking import HEAVIEST, Screen
from tests.console.refused import BROKEN, Refusals, refusals, serve
from tests.console.reports.filled_reports import running

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

LARGE, SMALL = Screen("light", 1440), Screen("dark", 390)
BY_NIGHT = Screen("dark", 1440)
WITH_FRAME = 4  # pages of Settings: the first, and a list, a new and an old one


@pytest.fixture
def refused(transactional_db: None) -> Refusals:
    return refusals(omar())


@pytest.fixture
def paths(transactional_db: None) -> Iterator[Paths]:
    found = fill(omar())
    with running():
        yield found


@pytest.fixture
def of_settings(paths: Paths) -> list[str]:
    return list(settings_paths())


@pytest.fixture
def page(site: str) -> Iterator[Page]:
    """A page of a browser; asked for last: nothing is stored beside it."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser.new_page(base_url=site)
        browser.close()


def test_nobody_is_shut_out_where_nothing_is(refused: Refusals, page: Page) -> None:
    page.goto("/")
    found = looking.faults(page, SMALL) + looking.frame_faults(page)
    sign_in(page)
    serve(page, refused)
    for path in (*[path for _, path in every(empty())], *refused):
        page.goto(path)
        found += looking.faults(page, SMALL, with_frame=path in refused)
        if path != BROKEN:  # it has no frame
            found += looking.frame_faults(page)

    assert found == []


def test_nobody_is_shut_out_where_all_is_full(paths: Paths, page: Page) -> None:
    """Pages are large by day and small by night, in turn; the first of each kind is
    looked at with its frame, walked through by Tab, and weighed."""
    sign_in(page)
    found, weights = [], {}
    for number, (is_first, path) in enumerate(every(paths)):
        screen = SMALL if number % 2 else LARGE
        screen.show(page)
        page.goto(path)
        if is_first:
            found += looking.tab_faults(page)
            weights[path] = looking.weight(page)
        found += looking.frame_faults(page)
        found += looking.faults(page, screen, with_frame=is_first)
        found += looking.too_wide(page)

    assert found == []
    assert [one for one in weights.items() if not 0 < one[1] <= HEAVIEST] == []


def test_settings_shut_nobody_out(of_settings: list[str], page: Page) -> None:
    """The frame is looked at on the first pages, by day and by night."""
    sign_in(page)
    found = []
    for number, path in enumerate(of_settings):
        screen = BY_NIGHT if number % 2 else LARGE
        screen.show(page)  # first: there, colours change slowly
        page.goto(path)
        found += looking.faults(page, screen, with_frame=number < WITH_FRAME)

    assert found == []


def every(paths: Paths) -> Iterable[tuple[bool, str]]:
    """Each path, and whether it is the first of its kind."""
    for of_one_kind in paths.values():
        for number, path in enumerate(of_one_kind):
            yield number == 0, path
