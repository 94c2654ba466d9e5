"""Limits of wrong passwords, on pages and over AMQP; whose address a request has."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import Client
from django.urls import reverse

from broker.amqp.clients.identity import authenticate
from broker.models import AuditRecord
from tests.console.until import until
from tests.make import make_user

PASSWORD = "battery staple 7"
Settings = Any
ROOT = Path(__file__).parents[3]


@pytest.fixture
def ada(db: None) -> User:
    user = make_user("ada")
    user.set_password(PASSWORD)
    user.save()
    return user


def try_sign_in(name: str, password: str, address: str) -> bool:
    """Whether a browser at an address signs in."""
    client = Client(REMOTE_ADDR=address)
    client.post(reverse("account_login"), {"username": name, "password": password})
    return "_auth_user_id" in client.session


@pytest.mark.usefixtures("ada")
def test_a_name_is_guessed_from_many_addresses_so_often_only(
    settings: Settings,
) -> None:
    settings.BACKOUT_SIGN_IN_FAILURES = (6, 100)

    for number in range(6):
        assert not try_sign_in("ada", "wrong", f"192.0.2.{number}")
        if number == 4:
            assert try_sign_in("ada", PASSWORD, "192.0.2.98")

    assert not try_sign_in("ada", PASSWORD, "192.0.2.99")


@pytest.mark.usefixtures("ada")
def test_an_address_guesses_many_names_so_often_only(settings: Settings) -> None:
    settings.BACKOUT_SIGN_IN_FAILURES = (100, 6)

    for number in range(6):
        assert not try_sign_in(f"user{number}", "wrong", "192.0.2.1")

    assert not try_sign_in("ada", PASSWORD, "192.0.2.1")
    assert try_sign_in("ada", PASSWORD, "192.0.2.2")


def test_a_wrong_old_password_counts_as_a_failed_sign_in(ada: User) -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(ada)
    path = reverse("console:password_change")
    new = {"new_password1": "correct horse 9", "new_password2": "correct horse 9"}
    assert client.post(path, new | {"old_password": "wrong"}).status_code == 200

    for _ in range(4):
        client.post(path, new | {"old_password": "wrong"})
    client.post(path, new | {"old_password": PASSWORD})

    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)  # even the right one came too late
    assert not try_sign_in("ada", PASSWORD, "192.0.2.1")
    assert AuditRecord.objects.filter(act="account.sign_in", outcome="refused").exists()


def test_the_right_old_password_changes_it(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    new = {"new_password1": "correct horse 9", "new_password2": "correct horse 9"}

    client.post(reverse("console:password_change"), new | {"old_password": PASSWORD})

    ada.refresh_from_db()
    assert ada.check_password("correct horse 9")


def test_wrong_passwords_over_amqp_are_audited_and_count_on_pages(ada: User) -> None:
    for _ in range(5):
        assert authenticate("ada", "wrong", "192.0.2.1") is None

    assert authenticate("ada", PASSWORD, "192.0.2.1") is None
    assert not try_sign_in("ada", PASSWORD, "192.0.2.1")
    assert authenticate("ada", PASSWORD, "192.0.2.2") == ada
    record = AuditRecord.objects.filter(outcome="refused").earliest("pk")
    assert (record.act, record.object_name) == ("account.sign_in", "ada")
    assert record.source == "192.0.2.1"


@pytest.mark.parametrize(
    ("proxies", "expected"), [("", "127.0.0.1"), ("127.0.0.1", "203.0.113.9")]
)
def test_a_proxy_is_believed_only_where_it_is_named(
    tmp_path: Path, proxies: str, expected: str
) -> None:
    (tmp_path / "told.py").write_text(
        "async def application(scope, receive, send):\n"
        "    assert scope['type'] == 'http'\n"
        "    await send({'type': 'http.response.start', 'status': 200})\n"
        "    await send({'type': 'http.response.body',"
        " 'body': scope['client'][0].encode()})\n"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    line = re.search(r"^web: (.*)$", (ROOT / "Procfile").read_text(), re.M)
    assert line is not None
    command = line[1].replace("console.asgi:application", "told:application")
    path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    known = {"HOST": "127.0.0.1", "PORT": str(port), "PATH": path}
    with subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=tmp_path,
        env=known | ({"BACKOUT_TRUSTED_PROXIES": proxies} if proxies else {}),
    ) as web:
        try:
            until(lambda: answers(port))
            headers = {"X-Forwarded-For": "203.0.113.9"}
            asked = Request(f"http://127.0.0.1:{port}/", headers=headers)
            with urlopen(asked, timeout=10) as answer:
                assert answer.read().decode() == expected
        finally:
            web.terminate()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_proxy_that_is_not_named_is_advised_against(settings: Settings) -> None:
    settings.HTTPS, settings.BACKOUT_TRUSTED_PROXIES = True, []
    assert "console.W001" in [one.id for one in run_checks(tags=["security"])]

    settings.BACKOUT_TRUSTED_PROXIES = ["127.0.0.1"]
    assert "console.W001" not in [one.id for one in run_checks(tags=["security"])]
