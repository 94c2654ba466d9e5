"""Every text of a page is marked for translation."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.console import pseudo
from tests.console.filled import fill, omar, settings_paths
from tests.tools import unmarked


def test_no_template_has_an_unmarked_text() -> None:
    assert [f"{path}: {text}" for path, text in unmarked.of_templates()] == []


@pytest.mark.thorough
@pytest.mark.django_db
def test_no_page_has_an_unmarked_text(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = omar()
    paths = [path for paths in fill(user).values() for path in paths]
    known = pseudo.words_of_data()
    client.force_login(user)
    pseudo.speak(monkeypatch)

    found = {}
    for path in (*paths, *settings_paths()):
        page = client.get(path, follow=True).content.decode()
        for text in pseudo.unmarked(page):
            if {word.lower() for word in pseudo.WORD.findall(text)} - known:
                found.setdefault(text, path)
    from pathlib import Path; Path("/tmp/found.txt").write_text("\n".join(f"{v}\t{k}" for k, v in found.items()))
    assert found == {}
