"""Every text of a page is marked for translation."""

from __future__ import annotations

import pytest
from django.test import Client

from console.accounts import time_zones
from tests.console import pseudo
from tests.console.filled import fill, omar, settings_paths
from tests.tools import unmarked


REFERENCE = "/api/docs/"  # the description of REST, which is in English


def test_no_template_has_an_unmarked_text() -> None:
    assert [f"{path}: {text}" for path, text in unmarked.of_templates()] == []


@pytest.mark.thorough
@pytest.mark.django_db
def test_no_page_has_an_unmarked_text(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = omar()
    paths = [path for paths in fill(user).values() for path in paths]
    known = pseudo.words_of_data() | zones()
    client.force_login(user)
    pseudo.speak(monkeypatch)

    found = {}
    for path in (*paths, *settings_paths()):
        if path.startswith(REFERENCE):
            continue
        page = client.get(path, follow=True).content.decode()
        for text in pseudo.unmarked(page):
            if {word.lower() for word in pseudo.WORD.findall(text)} - known:
                found.setdefault(text, path)
    from pathlib import Path; Path("/tmp/found.txt").write_text("\n".join(f"{v}\t{k}" for k, v in found.items()))
    assert found == {}


def zones() -> set[str]:
    words = {word for name in time_zones.names() for word in pseudo.WORD.findall(name)}
    return {word.lower() for word in words}
