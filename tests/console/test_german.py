"""German is complete: each marked text has a translation, which pages read."""

from __future__ import annotations

import gettext
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.mofile import write_mo

from tests.tools import catalog

VALUE = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
COUNTS = {"%(n)s", "%(count)s"}  # which the singular may leave out
DOMAINS = pytest.mark.parametrize("domain", catalog.DOMAINS)


def messages(domain: str, locale: Path = catalog.LOCALE) -> Iterator[Message]:
    path = catalog.path_of(domain, locale=locale)
    return (message for message in catalog.read(path) if message.id)


def forms(text: object) -> list[str]:
    return [*text] if isinstance(text, list | tuple) else [str(text)]


@DOMAINS
def test_each_text_is_translated_with_its_values(domain: str) -> None:
    for message in messages(domain):
        assert catalog.is_translated(message), message.id
        english, german = forms(message.id), forms(message.string)
        assert len(english) == len(german), message.id
        every = {*VALUE.findall(" ".join(english))}
        for said, form in zip(english, german, strict=True):
            values = {*VALUE.findall(form)}
            needed = {*VALUE.findall(said)} - (COUNTS if len(german) > 1 else set())
            assert needed <= values <= every, form


@DOMAINS
def test_pages_read_what_is_written(domain: str) -> None:
    path = catalog.path_of(domain)
    written = io.BytesIO()
    write_mo(written, catalog.read(path))
    written.seek(0)
    with path.with_suffix(".mo").open("rb") as file:
        read = gettext.GNUTranslations(file)

    expected = gettext.GNUTranslations(written)
    assert read._catalog == expected._catalog  # type: ignore[attr-defined]


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("xgettext"), reason="GNU gettext is not installed")
def test_each_marked_text_is_in_the_catalog_and_no_other(tmp_path: Path) -> None:
    tree, locale = tmp_path / "tree", tmp_path / "locale"
    for folder in ("broker", "console", "dashboards", "templates", "static"):
        shutil.copytree(catalog.ROOT / folder, tree / folder)
    catalog.collect(locale, tree=tree)
    for domain in catalog.DOMAINS:
        marked = {(one.context, str(one.id)) for one in messages(domain, locale)}
        kept = {(one.context, str(one.id)) for one in messages(domain)}
        assert kept == marked, f"run python -m tests.tools.catalog ({domain})"
