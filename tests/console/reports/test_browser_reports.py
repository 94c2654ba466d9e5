"""A report that is being made, in a browser: how far it is, wherever it says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from dashboards.models import ReportRun
from tests.broker.elsewhere import process, said, tell
from tests.console.browsing import opened, sign_in
from tests.console.filled import omar

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

WORKER = """
from dashboards.models import ReportRun
from dashboards.pipeline import locks
run = ReportRun.objects.get()
with locks.attempted(run.pk):
    ReportRun.objects.update(state="running", progress=0.42, stage="Counting")
    print("running", flush=True)
    input()
    ReportRun.objects.update(state="done")
print("done", flush=True)
"""


@pytest.fixture
def _waiting_run(transactional_db: None) -> None:
    ReportRun.objects.create(report="dead-letters", requested_by=omar())


@pytest.fixture
def page(site: str, _waiting_run: None) -> Iterator[Page]:
    """As in ``test_browser``: nothing may go wrong in it."""
    with opened(site) as page:
        yield page


def test_every_part_of_the_page_says_how_far_a_run_is(page: Page) -> None:
    sign_in(page)
    page.goto("/reports/dead-letters/")
    among_the_last = page.get_by_role("table", name="The last run").locator(".chip")
    expect(among_the_last).to_have_text("waiting")

    with process(WORKER) as worker:
        assert said(worker) == "running"
        expect(page.get_by_role("progressbar", name="Counting")).to_be_visible()
        expect(page.locator("#run")).to_contain_text("42 %")
        expect(among_the_last).to_have_text("running")

        tell(worker)
        assert said(worker) == "done"
    expect(among_the_last).to_have_text("done")
    expect(page.locator("#run")).to_have_count(0)
