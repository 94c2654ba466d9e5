"""Static files come in one piece, with all that WhiteNoise says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from console.integration.static_files import StaticFilesMiddleware

BODY = b"/* all */"


@pytest.fixture
def middleware(settings: Settings, tmp_path: Path) -> StaticFilesMiddleware:
    (tmp_path / "page.css").write_bytes(BODY)
    settings.STATIC_ROOT = tmp_path
    return StaticFilesMiddleware(lambda _: HttpResponse("a page"))


def ask(
    middleware: StaticFilesMiddleware, method: str = "GET", **headers: str
) -> HttpResponse:
    request = RequestFactory().generic(method, "/static/page.css", headers=headers)
    answer: HttpResponse = middleware(request)
    return answer


def test_a_file_comes_whole(middleware: StaticFilesMiddleware) -> None:
    answer = ask(middleware)

    assert not answer.streaming
    assert answer.content == BODY
    assert answer["Content-Type"].startswith("text/css")
    assert answer["Content-Length"] == str(len(BODY))


def test_a_part_of_it_comes_alone(middleware: StaticFilesMiddleware) -> None:
    answer = ask(middleware, Range="bytes=3-5")

    assert (answer.status_code, answer.content) == (206, b"all")


def test_what_a_browser_has_is_not_sent_again(
    middleware: StaticFilesMiddleware,
) -> None:
    known = {"If-Modified-Since": ask(middleware)["Last-Modified"]}

    answer = ask(middleware, **known)

    assert (answer.status_code, answer.content) == (304, b"")


def test_its_headers_can_be_asked_for(middleware: StaticFilesMiddleware) -> None:
    answer = ask(middleware, "HEAD")

    assert (answer.content, answer["Content-Length"]) == (b"", str(len(BODY)))


def test_all_else_is_for_the_pages(middleware: StaticFilesMiddleware) -> None:
    answer = middleware(RequestFactory().get("/static/gone.css"))

    assert answer.content == b"a page"
