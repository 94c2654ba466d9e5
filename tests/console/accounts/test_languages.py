"""Pages are in the language of the user; what programs read is English."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation

from broker.models import Queue
from broker.queueing.put import put
from console.accounts.sign_in import url
from console.conditions import CONDITIONS
from dashboards.live import languages
from tests.console.conftest import SignIn
from tests.make import make_queue

pytestmark = pytest.mark.django_db


def choose(client: Client, language: str) -> None:
    path = reverse("console:language")
    answer = client.post(path, {"language": language, "next": "/?q=x"})
    assert answer["Location"] == "/?q=x"


def page(client: Client, path: str = "/preferences/", **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def language_of(html: str) -> str:
    (found,) = re.findall(r'<html lang="(\w+)"', html)
    return str(found)


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT, en;q=0.8", "de"),
        ("en-GB, de;q=0.9", "en"),
        ("fr, de;q=0.7, en;q=0.5", "de"),
        ("fr", "en"),
        ("*", "en"),
        ("de;q=0", "en"),
        ("\x00;;=,,", "en"),
    ],
)
def test_a_page_is_in_the_language_that_the_browser_asks_for(
    sign_in: SignIn, accepted: str, language: str
) -> None:
    headers = {"accept-language": accepted} if accepted else {}
    answer = sign_in("viewer").get("/preferences/", headers=headers)

    assert language_of(answer.content.decode()) == language
    assert answer["Content-Language"] == language
    assert "Accept-Language" in answer["Vary"]
    assert translation.get_language() == "en", "the next request is another one's"


def test_a_choice_is_kept_and_can_be_taken_back(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    choose(client, "de")
    assert language_of(page(client, **{"accept-language": "en"})) == "de"
    assert 'lang="de" selected' in page(client)

    choose(client, "")
    assert language_of(page(client, **{"accept-language": "en"})) == "en"

    choose(client, "de")
    choose(client, "tlh")  # which is no language here, and changes nothing
    assert language_of(page(client)) == "de"


def test_the_page_to_sign_in_is_in_the_language_of_the_browser(client: Client) -> None:
    html = page(client, url(), **{"accept-language": "de"})

    assert language_of(html) == "de"
    assert "Passwort" in html


def test_settings_and_their_errors_are_translated(ada: Client) -> None:
    choose(ada, "de")
    answer = ada.post("/admin/broker/alertrule/add/", {})

    html = answer.content.decode()
    assert language_of(html) == "de"
    assert "Dieses Feld ist zwingend erforderlich." in html


def test_rest_is_english_whatever_the_browser_asks_for(sign_in: SignIn) -> None:
    client = sign_in("operator")
    choose(client, "de")
    answer = client.get("/api/v1/queues/none", headers={"accept-language": "de"})

    assert answer.status_code == 404
    assert answer["Content-Language"] == "en"
    assert "There is nothing here" in answer.json()["detail"]


def test_problems_are_told_in_the_language_of_the_page(sign_in: SignIn) -> None:
    queue = make_queue("orders")
    Queue.objects.filter(pk=queue.pk).update(paused=True)
    put("orders")
    client = sign_in("operator")

    assert "1 wait until somebody resumes it" in page(client, "/alerts/")
    choose(client, "de")
    german = page(client, "/alerts/")
    assert "until somebody resumes it" not in german
    assert "orders" in german


def test_scripts_have_their_texts_in_the_language_of_the_page(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert 'id="texts"' not in page(client)

    choose(client, "de")

    assert '<script id="texts" type="application/json">' in page(client)
    texts = languages.texts_of_scripts("de")
    assert texts["Copied."] not in ("", "Copied.")


def test_conditions_keep_english_for_programs() -> None:
    with translation.override("de"):
        assert CONDITIONS[0].title == "no such group"


def test_an_account_without_a_choice_has_no_cookie(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    page(client, **{"accept-language": "de"})

    assert languages.COOKIE not in client.cookies
    assert User.objects.count() == 1
