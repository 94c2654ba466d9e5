"""Every text of a page is marked for translation."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from broker.models import RecurringMessage
from console.accounts import time_zones
from tests.console import pseudo
from tests.console.filled import fill, omar, settings_paths
from tests.tools import unmarked

# The description of REST is in English, and so are the tasks that others declare.
ENGLISH = ("/api/docs/", "/admin/django_celery_beat/")


def test_no_template_has_an_unmarked_text() -> None:
    assert [f"{path}: {text}" for path, text in unmarked.of_templates()] == []


# Names that are the same in each language: of languages, programs, codings, fields of
# messages, authorities, and what a page has cut.
NAMES = {
    *("english", "deutsch", "python", "javascript", "java", "curl", "django", "open"),
    *("amqp", "jms", "http", "mqmd", "mqrfh", "mq", "zlib", "base", "jmscorrelationid"),
    *("reply", "to", "inquire", "browse", "get", "put", "passall", "set", "unmask"),
    *("exp", "dev", "properties", "tenant", "body", "customer", "id"),
}
STRIPES = re.compile(r"\bx+\b|\w*\*+")  # a long value, and the hash of a password


@pytest.mark.thorough
@pytest.mark.django_db
def test_no_page_has_an_unmarked_text(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page of a filled console, in a language of brackets: a text that stands in
    none is of the data, or is the same in each language."""
    user = omar()
    paths = [path for paths in fill(user).values() for path in paths]
    known = pseudo.words_of_data() | zones() | recurrences() | NAMES
    client.force_login(user)
    pseudo.speak(monkeypatch)

    found: dict[str, str] = {}
    for path in (*paths, *settings_paths()):
        if path.startswith(ENGLISH):
            continue
        page = client.get(path, follow=True).content.decode()
        for text in pseudo.unmarked(page):
            if words_of(STRIPES.sub("", text)) - known:
                found.setdefault(text, path)
    assert found == {}


def words_of(text: str) -> set[str]:
    return {word.lower() for word in pseudo.WORD.findall(text)}


def zones() -> set[str]:
    return {word for name in time_zones.names() for word in words_of(name)}


def recurrences() -> set[str]:
    """Crontab lines, which English alone has in words."""
    return {
        word for one in RecurringMessage.objects.all() for word in words_of(one.words)
    }
