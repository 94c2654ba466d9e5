"""Answers with message data stay out of caches; cookies and sockets are of one host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.make import make_queue

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[3]
ASKED = """
import django, json
django.setup()
from django.conf import settings
names = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SECURE_HSTS_SECONDS",
  "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_DOMAIN")
print(json.dumps([getattr(settings, one) for one in names]))
"""


@pytest.mark.parametrize(
    "path",
    ["/", "/queues/orders/", "/messages/", "/api/v1/queues", "/api/v1/queues/none"],
)
def test_no_cache_stores_an_answer(sign_in: SignIn, path: str) -> None:
    make_queue("orders")

    answer = sign_in("administrator").get(path)

    assert "no-store" in answer["Cache-Control"]


def test_a_message_got_by_the_api_is_stored_nowhere(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", b"secret")

    answer = sign_in("administrator").get("/api/v1/queues/orders/messages")

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


def test_signing_out_clears_what_the_browser_has_cached(sign_in: SignIn) -> None:
    answer = sign_in("viewer").post(reverse("console:logout"))

    assert answer["Clear-Site-Data"] == '"cache"'


def test_with_https_cookies_are_of_this_host_and_browsers_keep_to_https() -> None:
    environment = {
        **os.environ,
        "HTTPS": "1",
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    told = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(told.stdout) == [
        *("__Host-sessionid", "__Host-csrftoken", 31_536_000),
        *(True, True, None),
    ]


def test_without_a_token_the_metrics_name_no_queue(client: Client) -> None:
    make_queue("orders")

    text = client.get("/metrics").content.decode()

    assert "backout_queues 1.0" in text
    assert "orders" not in text
    assert 'queue="' not in text
