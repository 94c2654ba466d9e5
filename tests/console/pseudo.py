"""A language of tests: each text that is marked for translation stands in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.apps import apps
from django.db import models
from django.utils import translation

OPEN, CLOSE = "\u27e6", "\u27e7"
INNERMOST = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
SPAN = re.compile(r"\d+ (?:ms|s|min|h|d)\b")  # units are the same in each language
WORD = re.compile(r"[^\W\d_]{2,}")
# What people type or read the same in each language.
SKIPPED = {"script", "style", "code", "kbd", "samp", "pre", "textarea", "svg", "data"}
READ_OUT = ("aria-label", "title", "placeholder", "alt", "data-label")
# Elements without an end.
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


def speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put each translated text into brackets from now on."""
    said = translation._trans  # type: ignore[attr-defined]

    def many(one: str, more: str, number: float) -> str:
        return bracketed(one if number == 1 else more)

    monkeypatch.setattr(said, "gettext", bracketed)
    monkeypatch.setattr(said, "ngettext", many)
    monkeypatch.setattr(said, "pgettext", lambda _, text: bracketed(text))
    monkeypatch.setattr(said, "npgettext", lambda _, *given: many(*given))


def bracketed(text: object) -> str:
    if "," in str(text) and " " not in str(text):  # of the filter yesno
        return ",".join(map(bracketed, str(text).split(",")))
    return f"{OPEN}{text}{CLOSE}" if str(text).strip() else str(text)


def unmarked(page: str) -> list[str]:
    """The texts of a page that stand in no brackets, in its order. What is in brackets
    may be in several elements."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    texts = [*without("\n".join(reader.texts)).split("\n"), *map(without, reader.read)]
    return [left for text in texts if WORD.search(left := " ".join(text.split()))]


def without(text: str) -> str:
    """A text without what is in brackets."""
    while (shorter := INNERMOST.sub(" ", text)) != text:
        text = shorter
    return SPAN.sub("", text)


class Reader(HTMLParser):
    """Collects texts, and attributes that are shown or read out."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.read: list[str] = []  # attributes
        self.names: list[str] = []  # of the elements that are open
        self.open: list[str] = []  # the same; one whose text is literal is a code

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            classes = (dict(attrs).get("class") or "").split()
            is_literal = "mono" in classes or dict(attrs).get("translate") == "no"
            self.open.append("code" if is_literal else tag)
            self.names.append(tag)
        self.read += [value for name, value in attrs if name in READ_OUT and value]
        given = dict(attrs)
        if tag == "input" and given.get("type") in ("submit", "button"):
            self.read.append(given.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            self.open.pop()
            if self.names.pop() == tag:
                break

    def handle_data(self, data: str) -> None:
        if not SKIPPED & {*self.open}:
            self.texts.append(" ".join(data.split()))


def words_of_data() -> set[str]:
    """The words of all texts that are stored, in small letters."""
    return {word.lower() for text in stored() for word in WORD.findall(text)}


def stored() -> Iterator[str]:
    for model in apps.get_models():
        names = [
            field.name
            for field in model._meta.concrete_fields
            if not isinstance(field, models.ForeignKey)
        ]
        for row in model._base_manager.values_list(*names):
            yield from (text_of(value) for value in row)


def text_of(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="replace")
    return str(value)
