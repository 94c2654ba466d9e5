"""German pages in a project that has Django's own formats of numbers, with a comma."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import formats
from django.utils.translation import override

from dashboards.live import languages
from tests.console.filled import fill, omar, settings_paths

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
# Attributes that programs read: drawings, scripts, and fields of numbers.
READ = re.compile(
    r"\b(?:[xy][12]?|c[xy]|r|d|points|width|height|style|transform|viewBox|value|min|max"
    r'|step|data-[\w-]+)="[^"]*\d,\d[^"]*"'
)


@pytest.fixture(autouse=True)
def _formats_of_django(settings: LazySettings) -> Iterator[None]:
    settings.FORMAT_MODULE_PATH = None
    formats.reset_format_cache()
    yield
    formats.reset_format_cache()


def test_numbers_that_programs_read_have_no_comma(client: Client) -> None:
    with override("de"):
        assert formats.localize(1.5) == "1,5", "so Django writes it"
    user = omar()
    paths = [path for paths in fill(user).values() for path in paths]
    client.force_login(user)
    client.cookies[languages.COOKIE] = "de"

    found: dict[str, str] = {}
    for path in (*paths, *settings_paths()):
        page = client.get(path, follow=True).content.decode()
        found |= dict.fromkeys(READ.findall(page), path)
    assert found == {}
