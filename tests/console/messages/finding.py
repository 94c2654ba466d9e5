"""The page of messages in tests: what it says, and what stands on it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.test import Client
from django.urls import reverse

from tests.console.messages.test_messages import words

PAGE = reverse("console:messages")
ORDER = reverse("console:order_found")


def page(client: Client, *filters: str, status: int = 200, **query: Any) -> str:
    """Its HTML; the filters as one term each, in their normal form."""
    answer = client.get(PAGE, {"f": filters, **query})
    assert answer.status_code == status, answer.content
    html = answer.content.decode()
    assert "Traceback" not in html
    return html


def said(client: Client, *filters: str, **query: Any) -> str:
    return words(page(client, *filters, **query))


def listed(html: str) -> list[int]:
    """The messages of a list, in its order."""
    return [int(one) for one in re.findall(r'<tr id="m(\d+)\.\d+"', html)]


def items(html: str) -> list[str]:
    """What can be ticked."""
    return re.findall(r'name="item" value="(\d+\.\d+)"', html)


def links(html: str, words: str) -> list[str]:
    """Where links with these words in them lead."""
    found = re.findall(r'<a\b[^>]*?href="([^"]*)"[^>]*>(.*?)</a>', html, re.S)
    return [
        unescape(href)
        for href, text in found
        if words in unescape(re.sub("<[^>]*>", "", text))
    ]


def filters_of(url: str) -> list[str]:
    return parse_qs(urlsplit(url).query).get("f", [])
