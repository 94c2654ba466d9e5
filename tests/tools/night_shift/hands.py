"""A mouse, or the keyboard alone; each counts what its operator does.

A click, a key command and a field that is filled are one each, however much is typed.
"""

from __future__ import annotations

from typing import Protocol

from playwright.sync_api import Locator, Page, expect


class Hands(Protocol):
    """What both can do."""

    page: Page
    interactions: int

    def open_first(self) -> None:
        """Open the first row of a list."""

    def press(self, button: str, keys: str) -> None:
        """A button, by its name or by the keys that press it."""

    def fill(self, label: str, text: str) -> None:
        """In place of what a field has."""


class Mouse:
    """Clicks; letters only in fields."""

    def __init__(self, page: Page) -> None:
        self.page, self.interactions = page, 0

    def open_first(self) -> None:
        self.page.locator("main [data-row] a").first.click()
        self.interactions += 1

    def press(self, button: str, keys: str) -> None:
        del keys
        self.page.get_by_role("button", name=button).click()
        self.interactions += 1

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)
        self.interactions += 1


class Keyboard:
    """Keys; a field can be filled only if the page has put the focus there."""

    def __init__(self, page: Page) -> None:
        self.page, self.interactions = page, 0

    def open_first(self) -> None:
        self.hit("o")

    def press(self, button: str, keys: str) -> None:
        expect(enabled(self.page, button)).to_be_visible()
        self.hit(keys)

    def fill(self, label: str, text: str) -> None:
        field = self.page.get_by_label(label)
        expect(field).to_be_focused()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)
        self.interactions += 1

    def hit(self, keys: str) -> None:
        self.page.keyboard.press(keys)
        self.interactions += 1


def enabled(page: Page, button: str) -> Locator:
    return page.get_by_role("button", name=button, disabled=False)
