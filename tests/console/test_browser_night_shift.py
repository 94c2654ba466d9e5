"""The night shift on fewer messages; by hand it is done on very many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from broker import operations
from broker.models import Operation
from tests.broker.elsewhere import Background
from tests.console.browsing import arrive, opened, sign_in
from tests.console.letters import attempt, die, make_places
from tests.console.operator import console, make_omar
from tests.tools.night_shift import failing, shift
from tests.tools.night_shift.__main__ import MOST_INTERACTIONS
from tests.tools.night_shift.failing import Consumer
from tests.tools.night_shift.hands import Keyboard, Mouse

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

MESSAGES, CAUSES = 1200, 5
LARGEST = failing.largest(MESSAGES)


@pytest.mark.parametrize("way", [Mouse, Keyboard])
def test_a_wrong_patch_is_taken_back_and_the_right_one_sent(
    transactional_db: None, tmp_path: Path, way: type[Mouse] | type[Keyboard]
) -> None:
    make_omar()
    assert list(failing.bury(MESSAGES, CAUSES))[-1] == MESSAGES

    with console(tmp_path) as page, Consumer() as consumer:
        done = shift.work(way(page), LARGEST)

    assert done.interactions <= MOST_INTERACTIONS
    assert consumer.rejected == 10
    assert consumer.faults(range(LARGEST)) == []
    assert failing.faults(left=MESSAGES - LARGEST) == []


def test_a_key_starts_a_plan_only_where_its_button_would(
    transactional_db: None, site: str
) -> None:
    make_omar()
    make_places(attempts=1)
    die(body=b'{"currency": "XBT"}', attempts=1)

    with opened(site) as page:
        sign_in(page, "/dead/")
        page.keyboard.press("o")
        arrive(page, re.compile("no such|row"))
        page.keyboard.press("P")
        arrive(page, "Resubmit 1 message")
        page.evaluate("() => document.activeElement.blur()")
        page.keyboard.press(shift.SEND)
        nothing = page.get_by_text("Nothing has been sent yet.")
        expect(nothing).to_be_visible()
        expect(page.get_by_text("This plan has no patch yet")).to_be_visible()
        page.get_by_role("link", name="plan without a patch").click()
        arrive(page, "Resubmit 1 message")
        page.get_by_role("link", name="Operations").last.focus()
        page.keyboard.press(shift.SEND)
        page.reload()
        expect(nothing).to_be_visible()
        page.evaluate("() => document.activeElement.blur()")
        page.keyboard.press(shift.SEND)
        expect(page.locator(".result")).to_contain_text("1 sent")


def test_without_scripts_all_of_it_works(transactional_db: None, site: str) -> None:
    make_omar()
    make_places(attempts=1)
    for _ in range(3):
        die(body=b'{"currency": "XBT"}', attempts=1)

    def it_dies() -> None:
        attempt("ValueError: no such currency")
        operations.step(Operation.objects.latest("pk").pk)

    with opened(site, java_script_enabled=False) as page:
        sign_in(page, "/dead/")
        page.locator("main [data-row] a").first.click()
        page.get_by_role("button", name="Repair and resubmit…").click()
        page.get_by_label("The patch of the body").fill(shift.WRONG)
        page.get_by_role("button", name="See what it would change").click()
        page.get_by_label("Canary").fill("1")
        page.get_by_role("button", name="Resubmit 3 messages").click()
        Background(it_dies).join()
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("It stopped itself.")
        page.get_by_role("button", name="Undo…").click()
        page.get_by_role("button", name="Put 1 message back").click()
        page.get_by_role("button", name="Plan a new operation for them…").click()
        page.get_by_label("The patch of the body").fill(shift.RIGHT)
        page.get_by_role("button", name="See what it would change").click()
        expect(page.get_by_text("The patch fits 3 of 3.")).to_be_visible()
        page.get_by_label("Canary").fill("0")
        page.get_by_role("button", name="Resubmit 3 messages").click()
        expect(page.locator(".result")).to_contain_text("3 sent")
