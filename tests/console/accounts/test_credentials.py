"""The pages of credentials: who may, what is shown once, and how one is ended."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from broker.models import Act, Credential
from broker.security import credentials
from dashboards.live import problems
from tests.console.conftest import SignIn
from tests.console.edges.wire import make_client, make_credential, text
from tests.console.recorded import deeds
from tests.make import make_user, minutes

pytestmark = pytest.mark.django_db

LIST, NEW = "/credentials/", "/credentials/new/"
HOSTILE = "<script>x</script>\u202e"


def page(client: Client, url: str = LIST) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def form(**fields: Any) -> dict[str, Any]:
    """What the page sends; a box that is not ticked is not sent."""
    sent = {"name": "shop", "patterns": "#", "may_get": "on", "expires_at": ""}
    return {key: one for key, one in (sent | fields).items() if one is not None}


def revoke_url(one: Credential) -> str:
    return reverse("console:revoke_credential", args=[one.name])


def test_a_secret_is_made_and_shown_once(sign_in: SignIn, settings: Settings) -> None:
    settings.BROKER_AMQP_CERTIFICATE = ""
    settings.BROKER_AMQP_PORT = 5699
    shop = make_user("shop-user")
    client = sign_in("administrator")
    assert 'href="/credentials/new/"' in page(client)

    answer = client.post(
        NEW, form(owner=shop.username, patterns="orders.#\r\neu.*", may_put="on")
    )

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    shown = answer.content.decode()
    made = Credential.objects.get()
    found = re.search(r'<code id="secret">([^<]+)</code>', shown)
    assert found is not None
    secret = found[1]
    assert credentials.verify("shop", secret) == made
    assert (made.user, made.may_get, made.may_browse, made.may_put) == (
        *(shop, True, False, True),
    )
    assert made.patterns == "orders.#\neu.*"
    assert made.expires_at is None
    assert made.created_by is not None
    assert made.created_by.get_username() == "administrator"
    assert shown.count(secret) == 2  # itself, and in the line for the shell
    for part in ("BlockingConnection(", "rhea", "JmsConnectionFactory(", ":5699"):
        assert part in shown
    assert "allow_insecure_mechs=True" in shown
    for url in (LIST, NEW, revoke_url(made), "/connections/"):
        assert secret not in page(client, url)
    (deed,) = deeds()
    assert secret not in deed.detail
    assert "shop-user" in deed.detail


def test_with_a_certificate_programs_are_told_to_encrypt(
    sign_in: SignIn, settings: Settings
) -> None:
    settings.BROKER_AMQP_CERTIFICATE = "gate.pem"
    settings.BROKER_AMQP_HOST = "gate.example"
    shop = make_user("shop-user")

    answer = sign_in("administrator").post(NEW, form(owner=shop.username))

    shown = answer.content.decode()
    assert "amqps://gate.example:5671" in shown
    assert 'transport: "tls"' in shown
    assert "insecure" not in shown


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"name": "so bad"}, "Give a name of letters"),
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 101}, "100 characters or less"),
        ({"name": "taken"}, "There is a credential of this name"),
        ({"owner": "4711"}, "Select a valid choice"),
        ({"owner": None}, "This field is required."),
        ({"patterns": "a.#.#b"}, "#"),
        ({"patterns": ""}, "This field is required."),
        ({"may_get": None}, "Choose at least one of get, browse and put"),
        ({"expires_at": "2020-01-01T00:00"}, "That is in the past."),
        ({"expires_at": "soon"}, "Enter a valid date/time."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    sign_in: SignIn, wrong: dict[str, Any], told: str
) -> None:
    make_credential("taken")
    shop = make_user("shop-user")

    answer = sign_in("administrator").post(
        NEW, form(**{"owner": shop.username} | wrong)
    )

    assert answer.status_code == 422
    assert told in html.unescape(answer.content.decode())
    assert Credential.objects.count() == 1
    assert [one.object_name for one in deeds()] == ["taken"]


def test_all_that_is_wrong_is_said_at_once(sign_in: SignIn) -> None:
    shop = make_user("shop-user")
    sent = form(owner=shop.username, name="so bad", patterns="a.#.b", may_get=None)

    answer = sign_in("administrator").post(NEW, sent)

    said = html.unescape(answer.content.decode())
    for one in ("Give a name of letters", "last word", "Choose at least one of get"):
        assert one in said


def test_who_is_not_active_gets_no_credential(sign_in: SignIn) -> None:
    greta = make_user("greta")
    greta.is_active = False
    greta.save()
    client = sign_in("administrator")
    assert "greta" not in page(client, NEW)
    assert client.post(NEW, form(owner=greta.username)).status_code == 422


def test_an_account_with_more_permissions_gets_no_credential(sign_in: SignIn) -> None:
    root = User.objects.create_superuser("root")

    answer = sign_in("administrator").post(NEW, form(owner=root.username))

    assert answer.status_code == 422
    assert "Ask a superuser" in answer.content.decode()
    assert not Credential.objects.exists()


def test_a_name_that_somebody_else_took_meanwhile_is_no_fault(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form has looked already when the other is stored."""
    shop = make_user("shop-user")
    client = sign_in("administrator")
    create = credentials.create

    def late(name: str, *args: Any, **kwargs: Any) -> tuple[Credential, str]:
        create(name, shop)
        return create(name, *args, **kwargs)

    monkeypatch.setattr(credentials, "create", late)
    assert client.post(NEW, form(owner=shop.username)).status_code == 422


def test_the_list_says_what_each_may_and_whether_it_does(sign_in: SignIn) -> None:
    valid = make_credential("valid", patterns="eu.#\nus.#", may_browse=False)
    make_client(credential=valid)
    make_credential("revoked", by=make_user("olga"))
    credentials.revoke(Credential.objects.get(name="revoked"), make_user("rita"))
    old = make_credential("expired", expires_at=timezone.now() + minutes(1))
    Credential.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    make_credential("idle")
    idle = Credential.objects.get(name="idle").user
    idle.is_active = False
    idle.save()
    client = sign_in("administrator")

    shown = page(client)

    words = text(shown)
    assert "valid 1 connected valid valid-user get, put eu.# us.#" in words
    assert "expired expired expired-user" in words
    assert "revoked revoked revoked-user" in words
    assert re.search("by olga revoked .* by rita", words)
    assert "idle user is not active" in words
    assert "/connections/?q=valid" in shown
    assert revoke_url(valid) in shown
    assert revoke_url(Credential.objects.get(name="revoked")) not in shown
    filtered = text(page(client, f"{LIST}?q=IDLE-us"))
    assert "idle-user" in filtered
    assert "olga" not in filtered
    assert "There are 4 without this filter." in text(page(client, f"{LIST}?q=nothing"))


def test_revoking_is_confirmed_and_for_good(sign_in: SignIn) -> None:
    one = make_credential("shop")
    make_client(credential=one)
    client = sign_in("administrator")

    asks = text(page(client, revoke_url(one)))
    assert Credential.objects.get().revoked_at is None
    answer = client.post(revoke_url(one), {"reason": "leaked"}, follow=True)
    again = client.post(revoke_url(one), {"reason": "leaked"}, follow=True)

    assert "1 is open" in asks
    assert "This cannot be undone." in asks
    assert "shop is revoked: nobody logs in" in text(answer.content.decode())
    assert "had been revoked already" in text(again.content.decode())
    assert Credential.objects.get().revoked_at is not None
    (deed,) = deeds(Act.REVOKE_CREDENTIAL)
    assert deed.reason == "leaked"
    assert client.get("/credentials/4711/revoke/").status_code == 404
    assert client.get(f"/credentials/{'9' * 30}/revoke/").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_credentials_are_for_administrators(sign_in: SignIn, role: str) -> None:
    one = make_credential("shop")
    client = sign_in(role)
    for url in (LIST, NEW, revoke_url(one)):
        assert client.get(url).status_code == 403
        assert client.post(url, form(owner=one.user.username)).status_code in (403, 405)
    assert Credential.objects.get().revoked_at is None
    assert "/credentials/" not in page(client, "/")


def test_who_may_only_look_sees_no_buttons(client: Client) -> None:
    one = make_credential("shop")
    client.force_login(make_user(permissions=("broker.view_credential",)))
    shown = page(client)
    assert NEW not in shown
    assert revoke_url(one) not in shown


def test_an_empty_page_says_what_a_credential_is(sign_in: SignIn) -> None:
    words = text(page(sign_in("administrator")))
    assert "There are no credentials yet." in words
    assert words.count("New credential…") == 2


def test_what_administrators_have_written_is_shown_for_what_it_is(
    sign_in: SignIn,
) -> None:
    user = make_user("shop-user")
    type(user).objects.filter(pk=user.pk).update(username=HOSTILE)
    user.refresh_from_db()
    one = make_credential("shop", user, patterns="a.<script>x</script>")
    client = sign_in("administrator")
    for url in (LIST, f"{LIST}?q=<script>", NEW, revoke_url(one)):
        assert "<script>x" not in page(client, url)
    answer = client.post(NEW, form(name="other", owner=user.username)).content.decode()
    assert "<script>x" not in answer
    assert "\u202e" not in answer


def test_credentials_come_in_pages(sign_in: SignIn) -> None:
    one = make_credential("a")
    for number in range(101):
        one.pk, one.name = None, f"b{number:03}"
        one.save()
    client = sign_in("administrator")

    first = page(client)
    (following,) = re.findall(r'href="(\?[^"]*)" rel="next"', first)
    second = text(page(client, LIST + html.unescape(following)))

    assert "b098" in first
    assert "b099" not in first
    assert "b098" not in second
    assert "b100" in second
    assert "End of the list." in text(page(client, f"{LIST}?after=z"))


def test_the_page_asks_as_much_for_many_as_for_one(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    make_credential("a")
    page(client)
    cache.delete(
        problems.key("settings")
    )  # it is kept for seconds, which may end at any time
    with CaptureQueriesContext(database) as one:
        page(client)
    for number in range(9):
        make_client(credential=make_credential(f"b{number}"))
    cache.delete(problems.key("settings"))
    with CaptureQueriesContext(database) as many:
        page(client)
    assert len(many) == len(one)
