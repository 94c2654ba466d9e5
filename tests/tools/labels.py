"""Writes all labels of the console into ``tests/console/labels.txt``, to be read.

    .venv/bin/python -m tests.tools.labels

A label is a text of a template between two elements, an attribute that is read out or
shown, a text given to a template tag, a heading of a table, a help text of an act, or a
sentence of a condition. What is filled in is "…"; what depends on a condition is in
brackets, with "|" between the cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "console" / "labels.txt"
READ_OUT = (
    "aria-label",
    "title",
    "placeholder",
    "alt",
    "data-label",
    "aria-description",
)
INLINE = {
    *("a", "abbr", "b", "code", "em", "i", "kbd", "q", "span", "strong", "time", "wbr"),
    *("output", "data", "bdi", "var", "samp", "small", "mark"),
}
SKIPPED = {"script", "style"}
TAG = re.compile(r"\{%-?\s*(\w+)(.*?)%\}|\{\{.*?\}\}|\{#.*?#\}", re.S)
COMMENT = re.compile(r"\{% comment.*?endcomment %\}", re.S)
# The two forms of a text that depends on a number.
PLURAL = re.compile(
    r"\{% blocktranslate[^%]* count [^%]*%\}(.*?)\{% plural %\}(.*?)"
    r"\{% endblocktranslate %\}",
    re.S,
)
GIVEN = re.compile(r"""\s*(["'])(.*?)\1""", re.S)
QUOTED = re.compile(r'"([^"<>{}=/]*[A-Za-z][^"<>{}=/]*)"')
OPENING = {"if": "[", "ifchanged": "[", "for": "[", "with": "", "block": "\n"}
CASES = {"else": "|", "elif": "|", "empty": "|"}
SILENT = {"load", "extends", "csrf_token", "include", "icon", "blocktranslate"}
LEAVES = OPENING | CASES | dict.fromkeys(SILENT, "")
# Tags whose quoted arguments are shown.
SHOWING = {"chip", "figure", "include", "adding"}


def labels() -> list[str]:
    """Every label once, in the order of the alphabet."""
    found = {clean(one) for one in [*of_templates(), *of_declarations()]}
    return sorted(one for one in found if re.search(r"[A-Za-z]{2}", one))


def clean(text: str) -> str:
    text = " ".join(text.split())
    while (shorter := re.sub(r"\[[|…\s]*\]", "", text).strip()) != text:
        text = shorter
    return text


def of_templates() -> Iterator[str]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        source = PLURAL.sub(r"[\1|\2]", COMMENT.sub("", path.read_text()))
        shown = []
        for name, given in TAG.findall(source):
            if name in SHOWING:
                shown += QUOTED.findall(given)
        yield from shown
        reader = Reader()
        reader.feed(TAG.sub(written, source))
        reader.close()
        yield from reader.found


def written(tag: re.Match[str]) -> str:
    """What a tag of a template leaves in a text."""
    name = tag[1]
    if name is None:
        return "" if tag[0].startswith("{#") else "…"
    if name == "translate" and (given := GIVEN.match(tag[2])):
        return given[2]
    if name.startswith("end"):
        return "]" if OPENING.get(name[3:]) == "[" else ""
    return LEAVES.get(name, "…")


class Reader(HTMLParser):
    """Collects texts between elements that begin a line of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.text = ""
        self.within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE:
            self.flush()
        if tag in SKIPPED:
            self.within.append(tag)
        self.found += [value for name, value in attrs if name in READ_OUT and value]

    def handle_endtag(self, tag: str) -> None:
        if tag not in INLINE:
            self.flush()
        if self.within and self.within[-1] == tag:
            self.within.pop()

    def handle_data(self, data: str) -> None:
        if not self.within:
            self.text += data

    def flush(self) -> None:
        if self.text.strip():
            self.found.append(self.text)
        self.text = ""

    def close(self) -> None:
        super().close()
        self.flush()


def of_declarations() -> Iterator[str]:
    """Texts of acts, queries, conditions, reports and of the navigation."""
    from broker.acts.declaring import ACTS  # noqa: PLC0415  Django is set up first
    from broker.problems.conditions import table  # noqa: PLC0415
    from console import api  # noqa: F401, PLC0415  declares all of them
    from console.edges.queries import QUERIES  # noqa: PLC0415
    from console.layout.destinations import DESTINATIONS  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415

    yield from (one.name for one in DESTINATIONS)
    for act in ACTS.values():
        yield from (act.sentence, act.details)
        yield from (each.holds.help for each in act.fields)
    for query in QUERIES.values():
        yield query.sentence
        yield from (each.holds.help for each in query.fields)
        empty = getattr(query.answer, "empty", "")
        yield empty if isinstance(empty, str) else ""
    for condition in table().values():
        yield from (condition.title, condition.when, condition.remedy)
        yield from (condition.since,)
    for report in discover().values():
        yield from (report.title, report.question)
        for column in report.columns:
            yield from (column.title, column.note)
        yield from (one.title for one in report.charts)
        for named in report.parameters:
            yield from (named.title, named.note)


def page() -> str:
    return "".join(f"{one}\n" for one in labels())


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    PAGE.write_text(page())
