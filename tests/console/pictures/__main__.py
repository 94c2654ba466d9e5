"""Looks, takes the pictures, prints weights and faults; 1 where there are any."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection
from django.utils import timezone
from playwright.sync_api import Page, sync_playwright

from tests.bench import ground
from tests.console import looking
from tests.console.browsing import launched, running_console, sign_in
from tests.console.filled import LONG, empty, fill, omar, settings_paths
from tests.console.refused import Refusals, refusals, serve
from tests.console.reports.filled_reports import make_the_others, running


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with own_database(), tempfile.TemporaryDirectory() as var:
        user = omar()
        refused = refusals(user)
        without = [path for paths in empty().values() for path in paths] + [*refused]
        with running_console(Path(var)) as url:
            found = look(url, folder / "empty", without, refused)
            full = [path for paths in fill(user).values() for path in paths]
            full += [*make_the_others(user, LONG, timezone.now()), *settings_paths()]
            with running():
                found += look(url, folder / "full", full, {})
    for one in found:
        print(one)
    return 1 if found else 0


@contextmanager
def own_database() -> Iterator[None]:
    configured = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"test_{configured}_pictures"
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        ground.fetch(ground.LEAVE)  # what the console has left is on its way
        connection.creation.destroy_test_db(configured, verbosity=0)


def look(url: str, folder: Path, paths: list[str], refused: Refusals) -> list[str]:
    """Everything that is wrong; on the way, pictures are taken and weights printed."""
    found = []
    with sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(base_url=url)
        page.goto("/")
        found += pictures(page, folder / "sign-in")
        sign_in(page)
        serve(page, refused)
        for number, path in enumerate(paths):
            page.goto(path)
            name = path.strip("/").replace("/", "_")[:60] or "queues"
            found += pictures(page, folder / f"{number:03} {name}")
            print(f"{looking.weight(page):>8,}  {path}", flush=True)
        browser.close()
    return found


def pictures(page: Page, stem: Path) -> list[str]:
    is_ours = not page.url.split("/", 3)[3].startswith(("admin/", "broken/"))
    found = looking.frame_faults(page) + looking.tab_faults(page) if is_ours else []
    for screen in looking.SCREENS:
        screen.show(page)
        page.goto(page.url)  # from its top; in Settings, colours change slowly
        found += looking.faults(page, screen)
        page.screenshot(path=f"{stem} {screen}.png", full_page=True)
    if is_ours:
        found += looking.too_wide(page)
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
