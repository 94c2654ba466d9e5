"""The two ways of working with a console: a pointer, or the keyboard and nothing else.

Each does the same things by the names that people read, and counts what it took: a
click or a press of a key is one, and a text is one for each of its letters.
"""

from __future__ import annotations

import re
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

LONGEST_WALK = 80  # presses of Tab to something that is said to be there
FOCUS = "() => document.activeElement?.matches(':focus-visible') ?? false"
NAME = """
() => {
  const one = document.activeElement;
  const label = one.ariaLabel || one.labels?.[0]?.innerText;
  return (label || one.innerText || "").replace(/\\s+/g, " ").trim();
}"""

BEHIND = """
one => one.compareDocumentPosition(document.activeElement)
    & Node.DOCUMENT_POSITION_FOLLOWING"""


class Hands(Protocol):
    """What both can do."""

    page: Page
    keys: int
    clicks: int

    def place(self, name: str, key: str) -> None:
        """Go to a place of the navigation, which has a key after g."""

    def row(self, number: int) -> None:
        """Open a row of the list, counted from 0."""

    def press(self, name: str) -> None:
        """A button, a link, or what folds something out."""

    def plan(self) -> None:
        """The button that plans a resubmit of all that is here."""

    def choose(self, name: str) -> None:
        """One of several choices, of which the first is chosen."""

    def write(self, label: str, text: str) -> None:
        """In place of what a field has."""

    def back(self) -> None:
        """To the page before."""


class Pointer:
    """A pointer, and letters where there are fields."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = self.clicks = 0

    def place(self, name: str, key: str) -> None:
        del key
        self.click(self.page.get_by_label("Console").get_by_role("link", name=name))

    def row(self, number: int) -> None:
        self.click(self.page.locator("main [data-row]").nth(number).locator("a").first)

    def press(self, name: str) -> None:
        self.click(named(self.page, name))

    def plan(self) -> None:
        self.click(self.page.locator('[data-plan="resubmit"]'))

    def choose(self, name: str) -> None:
        self.click(self.page.get_by_role("radio", name=re.compile(name)))

    def write(self, label: str, text: str) -> None:
        field = self.page.get_by_label(label)
        field.click(click_count=3)  # all that it has is chosen
        self.page.keyboard.type(text)
        self.clicks += 3
        self.keys += len(text)

    def back(self) -> None:
        self.page.go_back()
        self.clicks += 1

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1


class Keyboard:
    """Tab and Shift+Tab, Enter, arrows, and the keys of the help sheet."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = self.clicks = 0

    def place(self, name: str, key: str) -> None:
        del name
        self.hit("g", key)

    def row(self, number: int) -> None:
        self.hit(*"j" * (number + 1), "Enter")

    def press(self, name: str) -> None:
        self.walk(name)
        self.hit("Enter")

    def plan(self) -> None:
        self.hit("R")

    def choose(self, name: str) -> None:
        """The group is one stop, and its arrows go on from what is chosen."""
        self.walk_until(lambda: self.page.locator('[type="radio"]:focus').count() > 0)
        for _ in range(LONGEST_WALK):
            if re.search(name, self.here()):
                return
            self.hit("ArrowDown")
        raise AssertionError(f"no arrow leads to {name}")

    def write(self, label: str, text: str) -> None:
        is_behind = self.page.get_by_label(label).evaluate(BEHIND)
        self.walk(label, "Shift+Tab" if is_behind else "Tab")
        self.hit("Control+a")
        self.page.keyboard.type(text)
        self.keys += len(text)

    def back(self) -> None:
        """By a key of the browser itself, which no page hears of."""
        self.page.go_back()
        self.keys += 1

    def walk(self, name: str, key: str = "Tab") -> None:
        """Past the navigation by the link that skips it, and on by Tab."""
        pattern = re.compile(name)
        self.walk_until(lambda: pattern.search(self.here()) is not None, key)
        expect(self.page.locator(":focus-visible")).to_be_in_viewport()

    def walk_until(self, there: object, key: str = "Tab") -> None:
        assert callable(there)
        if self.page.evaluate("() => document.activeElement === document.body"):
            self.hit("Tab", "Enter")
        for _ in range(LONGEST_WALK):
            self.hit(key)
            if there():
                return
        raise AssertionError(f"no key leads there; the last was {self.here()!r}")

    def here(self) -> str:
        """The name of what has the focus, which can be seen to have it."""
        assert self.page.evaluate(FOCUS), "nobody sees where the focus is"
        name: str = self.page.evaluate(NAME)
        return name

    def hit(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.keys += len(keys)


def named(page: Page, name: str) -> Locator:
    """What one presses: the first that can be seen, of this name."""
    pattern = re.compile(name)
    button = page.get_by_role("button", name=pattern)
    link = page.get_by_role("main").get_by_role("link", name=pattern)
    folds = page.locator("summary", has_text=pattern)
    return button.or_(link).or_(folds).filter(visible=True).first
