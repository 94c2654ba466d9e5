"""What the operator does, step by step, and what each step takes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, expect

from tests.console.browsing import arrive
from tests.tools.night_shift.hands import Hands

LIST = "/dead/"
SOUGHT = re.compile("the currency XBT is unknown")
WRONG, RIGHT = '{"currency": "EURO"}', '{"currency": "EUR"}'
WHY = "the shop sent a currency that nobody knows"
WAITS_MS = 600_000
SEND = "Control+Enter"


@dataclass
class Step:
    """One thing that the operator does, and what the machine needs for it."""

    name: str
    interactions: int
    seconds: float
    waiting: float  # seconds for the machine, of these


@dataclass
class Shift:
    """The steps of one operator."""

    hands: Hands
    steps: list[Step] = field(default_factory=list)
    waited: float = 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        interactions, waited = self.hands.interactions, self.waited
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        interactions = self.hands.interactions - interactions
        self.steps.append(Step(name, interactions, seconds, self.waited - waited))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.waited += time.perf_counter() - began

    def wait(self, place: Locator, text: str | re.Pattern[str]) -> None:
        """Until the page says so by itself."""
        with self.waiting():
            expect(place).to_contain_text(text, timeout=WAITS_MS)

    def arrive(self, heading: str | re.Pattern[str]) -> None:
        with self.waiting():
            arrive(self.hands.page, heading)

    @property
    def interactions(self) -> int:
        return sum(one.interactions for one in self.steps)

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.steps)


def work(hands: Hands, messages: int) -> Shift:
    """The whole of it.

    Args:
        hands: of the operator.
        messages: in the largest group, more than a hundred.
    """
    shift = Shift(hands)
    with shift.step("open the group of the largest cause"):
        hands.page.goto(LIST)
        shift.arrive("Dead letters")
        hands.open_first()
        shift.arrive(SOUGHT)
    with shift.step("plan to repair and resubmit it"):
        hands.press("Repair and resubmit…", "P")
        shift.arrive(re.compile(f"^Resubmit {messages:,} messages"))
    write_patch(shift, WRONG, messages, why=WHY)
    with shift.step("start; the canary fails, and it stops itself"):
        hands.press("start with 10", SEND)
        alarm = hands.page.locator("main").get_by_role("alert")
        shift.wait(alarm, "It stopped itself.")
    take_back(shift)
    with shift.step("plan all of them again"):
        hands.press("Plan a new operation for them…", "P")
        shift.arrive(re.compile(f"^Resubmit {messages:,} messages"))
        expect(hands.page.get_by_label("Reason")).to_have_value(WHY)
    write_patch(shift, RIGHT, messages)
    with shift.step("start; all are sent and accepted"):
        hands.press("start with 10", SEND)
        shift.wait(hands.page.locator(".result"), f"{messages:,} processed")
    return shift


def write_patch(shift: Shift, patch: str, messages: int, why: str = "") -> None:
    """Write a patch, and see what it would change; meanwhile, say why."""
    hands, page = shift.hands, shift.hands.page
    with shift.step(f"write the patch {patch}"):
        hands.fill("The patch of the body", patch)
    words = "see what it would change in each message"
    with shift.step(f"{words}; say why" if why else words):
        hands.press("See what it would change", SEND)
        with shift.waiting():
            page.wait_for_url(re.compile(r"#repair$"))
            page.wait_for_load_state()
        if why:
            hands.fill("Reason", why)
        shift.wait(page.locator("#patch-fits"), f"fits {messages:,} of {messages:,}.")
        expect(page.locator('.alike-list [data-kind="new"]')).to_contain_text(
            patch[-5:-2]
        )
        expect(page.get_by_label("Reason")).to_have_value(WHY)


def take_back(shift: Shift) -> None:
    hands, page = shift.hands, shift.hands.page
    with shift.step("stop it, and plan the undo"):
        hands.press("Undo…", "U")
        shift.arrive("Undo: put 10 messages back")
        expect(page.locator(".outlook")).to_contain_text("10 can be put back")
    with shift.step("put back what was sent"):
        hands.press("Put 10 messages back", SEND)
        shift.wait(page.locator(".result"), "10 put back")


def table(shift: Shift) -> str:
    """What was done, in Markdown."""
    steps = shift.steps
    rows = [(one.name, one.interactions, one.seconds, one.waiting) for one in steps]
    rows += [("**all of it**", shift.interactions, shift.seconds, shift.waited)]
    head = ["| step | interactions | seconds | of which waiting |", "|---|--:|--:|--:|"]
    lines = [f"| {name} | {n} | {s:.1f} | {w:.1f} |" for name, n, s, w in rows]
    return "\n".join([*head, *lines])
