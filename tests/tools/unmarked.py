"""Lists the texts of templates that are not marked for translation.

    .venv/bin/python -m tests.tools.unmarked [a part of a path]...

A text is marked by ``translate``, ``blocktranslate`` or, in a tag, by ``_("…")``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tests.tools.labels import COMMENT, READ_OUT, ROOT

FOLDERS = ("templates", "console/configuration/settings_templates")
MARKED = re.compile(
    r"\{%\s*blocktrans(?:late)?\b.*?\{%\s*endblocktrans(?:late)?\s*%\}"
    r"|\{%\s*trans(?:late)?\s.*?%\}",
    re.S,
)
TAG = re.compile(r"\{%\s*(?P<name>\w+)(?P<given>.*?)%\}|\{\{(?P<value>.*?)\}\}", re.S)
NOTE = re.compile(r"\{#.*?#\}")
# A filter whose text is shown, and what it is given.
FILTER = re.compile(r"\|(?:default|default_if_none|yesno|pluralize):(_\()?(\"[^\"]*\")")
# The arguments of tags and of included templates that are shown.
ARGUMENT = re.compile(
    r"\b(?:title|label|help|note|words|what|more|order|caption|last|announce|here|word"
    r"|heading|reason|text|none|hint)=(_\()?(\"[^\"]*\")"
)
CHIP = re.compile(r"^\s*\S+\s+(_\()?(\"[^\"]*\")")
LETTERS = re.compile(r"[A-Za-z]{2}")
# What people type or read the same in each language.
SKIPPED = {"script", "style", "code", "kbd", "samp", "pre"}
NAMES = re.compile(
    r"\b(?:Backout|AMQP|JMS|REST|JSON|XML|CSV|URL|UTC|ID|id|HL7|Celery|Redis|PostgreSQL"
    r"|Python|Spark|OpenAPI|YAML|Ctrl|Esc|Shift|Enter|ms|px|min)\b"
    r"|\b\w+(?:\.\w+)+\b"  # a path, such as h.tenant
)


def unmarked(source: str) -> list[str]:
    """What the text of a template shows without a mark, in its order."""
    source = NOTE.sub("", COMMENT.sub("", source))
    found = [one for tag in TAG.finditer(MARKED.sub("", source)) for one in given(tag)]
    reader = Reader()
    reader.feed(TAG.sub("", MARKED.sub("", source)))
    reader.close()
    return [
        one.strip()
        for one in [*found, *reader.found]
        if LETTERS.search(NAMES.sub("", one))
    ]


def given(tag: re.Match[str]) -> Iterator[str]:
    """The texts that a tag is given without a mark."""
    text = tag["given"] or tag["value"]
    patterns = [] if tag["name"] == "extends" else [FILTER]
    if tag["name"] in ("include", "figure", "with"):
        patterns.append(ARGUMENT)
    if tag["name"] == "chip":
        patterns.append(CHIP)
    for pattern in patterns:
        yield from (quoted for mark, quoted in pattern.findall(text) if not mark)


class Reader(HTMLParser):
    """Collects texts, and attributes that are shown or read out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED:
            self.within.append(tag)
        self.found += [value for name, value in attrs if name in READ_OUT and value]
        given = dict(attrs)
        if tag == "input" and given.get("type") in ("submit", "button"):
            self.found.append(given.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        if self.within and self.within[-1] == tag:
            self.within.pop()

    def handle_data(self, data: str) -> None:
        if not self.within:
            self.found.append(data)


def of_templates(*parts: str) -> Iterator[tuple[Path, str]]:
    """Each unmarked text of the templates whose path has one of the parts."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.html")):
            relative = path.relative_to(ROOT)
            if not parts or any(part in str(relative) for part in parts):
                yield from ((relative, one) for one in unmarked(path.read_text()))


if __name__ == "__main__":
    count = 0
    for where, text in of_templates(*sys.argv[1:]):
        count += 1
        print(f"{where}: {' '.join(text.split())}")
    print(f"{count} texts are not marked.")
