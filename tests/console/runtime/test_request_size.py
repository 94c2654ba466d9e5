"""Requests above the limit are refused before they are read."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from console.runtime.request_size import BoundedRequest
from tests.console.conftest import SignIn

MOST = 100_000
GIGABYTE = 2**30
CHUNK = bytes(50_000)
FORM = "multipart/form-data; boundary=x"


@pytest.fixture(autouse=True)
def limit(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = MOST


class Unreadable:
    """A body that is too long to be read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("the upload is read")

    readline = read


@pytest.mark.parametrize(
    "page", ["admin:broker_addresssetting_import", "admin:broker_bridge_import"]
)
def test_a_file_of_a_gigabyte_is_refused_before_it_is_read(
    sign_in: SignIn, page: str
) -> None:
    answer = upload(sign_in("administrator"), reverse(page))

    assert answer.status_code == 413
    text = answer.content.decode()
    assert "The form with its files is too large." in text
    assert "At most 100,000 bytes are taken at once" in text
    assert "BACKOUT_MAX_REQUEST_BYTES" in text


def test_a_form_within_the_limit_is_read(sign_in: SignIn) -> None:
    client = sign_in("administrator")

    answer = client.post(
        reverse("admin:broker_addresssetting_import"),
        {"text": '{"format": 7}', "mode": "merge"},
    )

    assert answer.status_code == 200
    assert "Nothing was imported." in answer.content.decode()


def test_other_bad_requests_are_as_django_answers_them(client: Client) -> None:
    answer = client.get("/", headers={"host": "elsewhere.test:port"})

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("length", "chunks", "answer", "read"),
    [
        (None, 2, b"100000 bytes", 2),
        (100_000, 2, b"100000 bytes", 2),
        (GIGABYTE, 20_000, b"too large", 0),
        (None, 20_000, b"too large", 3),
        (7, 20_000, b"too large", 3),
    ],
)
async def test_a_body_is_read_up_to_the_limit(
    length: int | None, chunks: int, answer: bytes, read: int
) -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": CHUNK, "more_body": taken < chunks}

    headers = [] if length is None else [(b"content-length", b"%d" % length)]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    request, handler = BoundedRequest(scope, receive), ASGIHandler()

    body = await handler.read_body(request.receive)

    assert (taken, body.seek(0, 2) <= MOST) == (read, True)
    body.seek(0)
    made, error = handler.create_request(request.scope, body)
    assert made is not None, error
    assert answer_to(made) == answer
    body.close()


async def test_what_comes_after_the_cut_is_dropped_until_the_client_is_gone() -> None:
    coming = [{"type": "http.request", "body": CHUNK, "more_body": True}] * 9
    coming.append({"type": "http.disconnect"})

    async def receive() -> dict[str, Any]:
        return coming.pop(0)

    headers = [(b"content-length", b"%d" % GIGABYTE)]
    request = BoundedRequest({"headers": headers}, receive)

    first, second = await request.receive(), await request.receive()

    assert first == {"type": "http.request", "body": b"", "more_body": False}
    assert second == {"type": "http.disconnect"}


def upload(client: Client, url: str) -> Any:
    """Send the form as a browser does; the check against forgery reads it first."""
    client.handler.enforce_csrf_checks = True
    client.cookies["csrftoken"] = "a" * 32
    about: dict[str, Any] = {"CONTENT_TYPE": FORM, "CONTENT_LENGTH": str(GIGABYTE)}
    about["wsgi.input"] = Unreadable()
    return client.generic("POST", url, **about)


def answer_to(request: HttpRequest) -> bytes:
    try:
        return b"%d bytes" % len(request.body)
    except RequestDataTooBig:
        return b"too large"
