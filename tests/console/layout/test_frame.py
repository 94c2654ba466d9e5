"""What stands around every page, who gets in, and what those are told who do not."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.http import Http404
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from broker import errors
from console.accounts import roles
from console.edges.web import unavailable
from console.edges.web.error_responses import STATUS, RefusalMiddleware
from tests.console.conftest import SignIn
from tests.make import make_queue, make_user

INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:")


def test_strangers_are_asked_to_sign_in(client: Client, db: None) -> None:
    answer = client.get("/", follow=True)

    html = answer.content.decode()
    assert answer.redirect_chain == [("/accounts/login/?next=/", 302)]
    assert "Sign in" in html
    assert "<nav" not in html


def test_who_signs_in_gets_to_where_they_wanted(client: Client, db: None) -> None:
    make_user("vera", permissions=("broker.view_queue",))

    answer = client.post(
        "/accounts/login/",
        {"username": "vera", "password": "correct horse", "next": "/?q=a"},
    )

    assert answer["Location"] == "/?q=a"


def test_a_name_is_locked_after_five_wrong_passwords(client: Client, db: None) -> None:
    make_user("vera")
    wrong = {"username": "vera", "password": "wrong"}

    answers = [client.post("/accounts/login/", wrong) for _ in range(5)]
    right = client.post("/accounts/login/", wrong | {"password": "correct horse"})

    assert "name or the password is wrong" in answers[0].content.decode()
    assert right.status_code == 429
    assert "locked for now" in right.content.decode()


@pytest.mark.parametrize("name", ["x" * 151, "x" * 300, "ä" * 5000])
def test_what_is_longer_than_any_name_is_nobody_s(
    client: Client, db: None, name: str
) -> None:
    answer = client.post("/accounts/login/", {"username": name, "password": "x"})

    assert answer.status_code == 200
    assert answer.wsgi_request.user.is_anonymous


@pytest.mark.parametrize(
    ("role", "places"),
    [("viewer", {"Queues", "Reports"}), ("administrator", {"Queues", "Settings"})],
)
def test_one_sees_the_places_one_may_go_to(
    sign_in: SignIn, role: str, places: set[str]
) -> None:
    html = sign_in(role).get("/").content.decode()

    shown = set(re.findall(r"<span>([^<]+)</span>", html))
    assert places <= shown
    assert ("Settings" in shown) == (role == "administrator")


def test_only_those_with_the_role_get_into_the_settings(sign_in: SignIn) -> None:
    assert sign_in("operator").get("/admin/broker/queue/").status_code == 302
    client = sign_in("administrator")
    make_queue("orders")

    for path in (
        "",
        "broker/queue/",
        "broker/address/",
        "broker/addresssetting/add/",
        "auth/user/",
    ):
        html = client.get(f"/admin/{path}").content.decode()
        assert 'aria-label="Console"' in html
    assert "orders" in client.get("/admin/broker/queue/").content.decode()


@pytest.mark.parametrize(("chosen", "sent"), [("dark", "dark"), ("system", "")])
def test_the_theme_is_remembered(sign_in: SignIn, chosen: str, sent: str) -> None:
    client = sign_in("viewer")

    answer = client.post(reverse("console:theme"), {"theme": chosen, "next": "/?q=x"})
    html = client.get("/").content.decode()

    assert answer["Location"] == "/?q=x"
    assert (f'data-theme="{sent}"' in html) == bool(sent)


@pytest.mark.parametrize("url", ["https://evil.example/", "//evil.example", "", "x:y"])
def test_a_form_leads_nowhere_else(sign_in: SignIn, url: str) -> None:
    client = sign_in("viewer")

    answer = client.post(reverse("console:theme"), {"theme": "pink", "next": url})

    assert answer["Location"] == "/"
    assert "theme" not in answer.cookies


@pytest.mark.parametrize("name", ["prod", "eu-live"])
def test_production_is_said_in_words_too(
    sign_in: SignIn, settings: Settings, name: str
) -> None:
    settings.BACKOUT_ENVIRONMENT = name

    html = sign_in("viewer").get("/").content.decode()

    assert 'data-environment="prod"' in html
    assert f"<title>{name.upper()} · Overview · Backout</title>" in html
    assert "favicon-prod" in html


@pytest.mark.parametrize(
    "path", ["/", "/messages/", "/queues/orders/", "/queues/orders/pause/"]
)
def test_pages_keep_to_their_policy(sign_in: SignIn, path: str) -> None:
    make_queue("orders")

    answer = sign_in("administrator").get(path)

    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert "camera=(), display-capture=()" in answer["Permissions-Policy"]
    assert not INLINE.search(answer.content.decode())


def test_each_role_has_what_it_may_do(db: None) -> None:
    for name, permissions in roles.ROLES.items():
        group = Group.objects.get(name=name)
        granted = {
            f"{label}.{codename}"
            for label, codename in group.permissions.values_list(
                "content_type__app_label", "codename"
            )
        }
        assert granted == permissions


def test_a_role_that_was_given_more_keeps_it(db: None) -> None:
    viewers, administrators = (
        Group.objects.get(name=name) for name in ("viewer", "administrator")
    )
    extra = administrators.permissions.get(codename="pause_queue")
    viewers.permissions.add(extra)

    roles.grant(app_config=apps.get_app_config("broker"), apps=apps, using="default")

    assert extra in viewers.permissions.all()


def refused(error: Exception, *, is_part: bool = False) -> tuple[int, str] | None:
    headers = {"HX-Request": "true"} if is_part else {}
    request = RequestFactory().get("/", headers=headers)
    request.user = make_user("vera")
    middleware = RefusalMiddleware(lambda _: pytest.fail("not asked"))
    answer = middleware.process_exception(request, error)
    return (answer.status_code, answer.content.decode()) if answer else None


def test_a_refusal_is_told_in_the_broker_s_words(db: None) -> None:
    answer = refused(errors.NoSuchQueue("<i>orders</i>"))

    assert answer
    status, html = answer
    assert status == 404
    assert "There is no queue &#x27;&lt;i&gt;orders&lt;/i&gt;&#x27;" in html
    assert "<html" in html


def test_htmx_gets_the_words_alone(db: None) -> None:
    answer = refused(errors.LockLost(7), is_part=True)

    assert answer
    assert answer[0] == 409
    assert "<html" not in answer[1]


def test_what_does_not_exist_has_a_page_of_the_console_in_any_project(
    db: None,
) -> None:
    answer = refused(Http404())

    assert answer
    assert answer[0] == 404
    assert "There is no such page" in answer[1]


def test_what_is_no_refusal_is_left_alone(db: None) -> None:
    assert refused(ValueError()) is None


def test_every_refusal_has_a_status() -> None:
    assert set(STATUS) >= set(errors.BrokerError.__subclasses__())


def test_a_page_that_broke_says_what_to_do_without_a_database() -> None:
    answer = unavailable.failed(RequestFactory().get("/"))

    assert answer.status_code == 500
    assert "Messages are safe" in answer.content.decode()


def test_an_old_form_says_so(db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user("vera", permissions=("broker.view_queue",)))

    answer = strict.post(reverse("console:theme"), {"theme": "dark"})

    assert answer.status_code == 403
    assert "This form was too old" in answer.content.decode()
