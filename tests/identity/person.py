"""Somebody's browser, which goes from the console to the provider and back."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from django.test import Client
from django.urls import reverse

CONSOLE = "http://testserver"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def sign_in(client: Client, name: str, **form: str) -> Any:
    """Sign in through the provider; the answer of the console at the end."""
    return come_back(client, at_provider(asked(client, **form), name))


def asked(client: Client, **form: str) -> str:
    """The address to which the console sends the browser."""
    answer = client.post(reverse("single_sign_on"), form)
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def parameters(url: str) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}


def at_provider(url: str, name: str) -> str:
    """Sign in on the provider's page; the address to which it sends the browser."""
    with requests.Session() as browser:
        answer = browser.get(url, allow_redirects=False, timeout=9)
        while True:
            while answer.is_redirect:
                url = urljoin(url, answer.headers["Location"])
                if url.startswith(CONSOLE):
                    return url
                answer = browser.get(url, allow_redirects=False, timeout=9)
            token = TOKEN.search(answer.text)
            assert token is not None, answer.text
            said: dict[str, Any] = {"csrfmiddlewaretoken": token[1]}
            said |= {"login": name, "password": name}
            answer = browser.post(url, said, allow_redirects=False, timeout=9)


def come_back(client: Client, url: str) -> Any:
    return client.get(url.removeprefix(CONSOLE), follow=True)
