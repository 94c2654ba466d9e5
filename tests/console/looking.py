"""What is looked at on every page: who is shut out, what is too wide, its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, ViewportSize

from tests.console.browsing import bring_axe

HEAVIEST = 75_000  # bytes of scripts and styles, as they are sent
HEIGHT = 900  # pixels
SPARE = 60  # keys: parts of a date, and boxes that scroll, are stops, too

FRAME_PARTS = [".topbar", ".nav", "#keys", "body > svg", "#header", "#nav-sidebar"]
AXE_RUN = """
async (exclude) => {
  const rules = {"target-size": {enabled: true}};
  const options = {resultTypes: ["violations"], preload: false, rules};
  return (await axe.run({exclude}, options)).violations
    .flatMap((rule) => rule.nodes.map((node) =>
      `${rule.impact}: ${rule.id}: ${node.html.slice(0, 200)}`));
}
"""
FRAME = """
() => {
  const wrong = [];
  const heads = document.querySelectorAll("h1").length;
  if (heads !== 1) wrong.push(`${heads} headings of the first level`);
  const skip = document.querySelector("a, button, input:not([type=hidden])");
  if (!skip?.hash || !document.querySelector(skip.hash))
    wrong.push("its first control does not skip to the page");
  return wrong;
}
"""
WIDE = """
() => [...document.querySelectorAll(":root, .table-wrap:not([tabindex])")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => `wide: ${one.scrollWidth} > ${one.clientWidth}:`
    + ` ${one.outerHTML.slice(0, 150)}`)
"""
UNFOLD = """
() => document.querySelectorAll("main details:not(.menu)")
  .forEach((one) => { one.open = true; })
"""
WEIGHT = """
() => performance.getEntriesByType("resource")
  .filter((one) => /[.](js|css)$/.test(new URL(one.name).pathname))
  .map((one) => one.encodedBodySize)
"""
# A choice among several is one stop, of which the keys of arrows go on.
CONTROLS = """
() => {
  window.controls = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [onclick], [role=button]",
  )].filter((one) => !one.disabled && one.checkVisibility({visibilityProperty: true}));
  window.reached = new Set();
  window.unseen = new Set();
  return window.controls.length;
}
"""
STOP = """
() => {
  const here = document.activeElement;
  if (!here || here === document.body) return 0;
  window.reached.add(here);
  if (here.name) document.getElementsByName(here.name).forEach((one) => {
    if (one.type === "radio" && one.form === here.form) window.reached.add(one);
  });
  const outlined = (one) => getComputedStyle(one).outlineStyle !== "none";
  const is_marked = outlined(here) || outlined(here.parentElement);
  const is_seen = [...here.getClientRects()].some((box) => {
    const middle = (from, to, room) => (Math.max(from, 0) + Math.min(to, room)) / 2;
    const x = middle(box.left, box.right, innerWidth);
    const y = middle(box.top, box.bottom, innerHeight);
    const top = document.elementFromPoint(x, y);
    return top && (here.contains(top) || top.contains(here));
  });
  if (!is_marked || !is_seen) window.unseen.add(here);
  return window.controls.filter((one) => window.reached.has(one)).length;
}
"""
MISSED = """
() => [
  ...window.controls.filter((one) => !window.reached.has(one))
    .map((one) => `no Tab leads to ${one.outerHTML.slice(0, 150)}`),
  ...[...window.unseen].map((one) => `unseen focus: ${one.outerHTML.slice(0, 150)}`),
]
"""


@dataclass(frozen=True)
class Screen:
    theme: str  # light or dark
    width: int  # pixels

    def show(self, page: Page) -> None:
        page.emulate_media(color_scheme="dark" if self.theme == "dark" else "light")
        size = ViewportSize(width=self.width, height=HEIGHT)
        if page.viewport_size != size:  # the same takes as long
            page.set_viewport_size(size)

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


SCREENS = [Screen(theme, width) for width in (1440, 390) for theme in ("light", "dark")]
BETWEEN = (1024, 768, 320)  # pixels: other widths at which nothing may be too wide


def faults(page: Page, screen: Screen, *, with_frame: bool = True) -> list[str]:
    """What axe has against a page on a screen, however small, and what is too wide;
    all of it is unfolded first.

    Args:
        with_frame: whether axe looks at the bar and the navigation, too. They are the
            larger part of most pages, and the same on all.
    """
    screen.show(page)
    page.evaluate(UNFOLD)
    bring_axe(page)
    excluded = [] if with_frame else FRAME_PARTS
    found: list[str] = page.evaluate(AXE_RUN, excluded) + page.evaluate(WIDE)
    return [f"{path_of(page)} {screen}: {one}" for one in found]


def too_wide(page: Page) -> list[str]:
    """At other widths, at which the page is left."""
    found = []
    for width in BETWEEN:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        found += [f"{path_of(page)} {width}: {one}" for one in page.evaluate(WIDE)]
    return found


def frame_faults(page: Page) -> list[str]:
    """One heading above all others, and a way past the navigation."""
    return [f"{path_of(page)}: {one}" for one in page.evaluate(FRAME)]


def tab_faults(page: Page) -> list[str]:
    """The controls that no Tab leads to, and those that do not show the focus; the page
    is left at its top, where the bar covers none of it."""
    controls = page.evaluate(CONTROLS)
    for _ in range(controls + SPARE):
        page.keyboard.press("Tab")
        if page.evaluate(STOP) == controls:
            break
    page.evaluate("() => scrollTo(0, 0)")
    return [f"{path_of(page)}: {one}" for one in page.evaluate(MISSED)]


def weight(page: Page) -> int:
    """Bytes of its scripts and styles as they were sent, whenever that was."""
    sizes: list[int] = page.evaluate(WEIGHT)
    return sum(sizes)


def path_of(page: Page) -> str:
    path: Any = page.evaluate("() => location.pathname + location.search")
    return str(path)
