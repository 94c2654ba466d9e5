"""Who must have a second factor reaches nothing without one; and who lost it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.amqp.clients.identity import authenticate
from broker.models import Act, AuditRecord
from broker.security import credentials
from console.models import BrowserSession
from tests.console.conftest import SignIn
from tests.console.second_factors.factors import (
    PASSWORD,
    SoftKey,
    code_now,
    give_app,
    give_codes,
    give_key,
    give_password,
    secret_on,
)
from tests.make import make_user

pytestmark = pytest.mark.django_db

CODE, INDEX = reverse("mfa_authenticate"), reverse("mfa_index")
APP, ADD_KEY = reverse("mfa_activate_totp"), reverse("mfa_add_webauthn")
ELSEWHERE = (
    *("/", "/queues/", "/preferences/", "/audit/", "/accounts/password/"),
    *("/accounts/login/", reverse("mfa_view_recovery_codes"), "/reports/"),
)


@pytest.fixture
def ada() -> User:
    ada = make_user("ada", permissions=("broker.view_queue",))
    ada.groups.add(Group.objects.get(name="administrator"))
    ada.is_staff = True
    ada.save()
    return ada


@pytest.fixture
def must(settings: Settings) -> Callable[..., None]:
    def must(*groups: str) -> None:
        settings.BACKOUT_SECOND_FACTOR_GROUPS = list(groups)

    return must


def signed_in(user: User) -> Client:
    client = Client()
    give_password(client, user)
    return client


def test_who_must_have_one_is_led_to_it_and_nowhere_else(
    ada: User, must: Callable[..., None]
) -> None:
    must("operator", "administrator")
    client = signed_in(ada)

    for path in ELSEWHERE:
        assert client.get(path)["Location"] == INDEX, path
    page = client.get(INDEX).content.decode()
    assert "Your account requires a second factor" in page
    assert 'class="alone"' in page
    assert client.get("/admin/", follow=True).redirect_chain[-1][0] == INDEX
    part = client.get("/depths/", headers={"HX-Request": "true"})
    assert part["HX-Redirect"] == INDEX
    assert client.get("/api/v1/queues").status_code == 401
    assert client.post("/preferences/theme/", {"theme": "dark"})["Location"] == INDEX


def test_with_an_app_all_is_open(ada: User, must: Callable[..., None]) -> None:
    must("administrator")
    client = signed_in(ada)

    secret = secret_on(client.get(APP).content.decode())
    client.post(APP, {"code": code_now(secret)})

    assert client.get("/").status_code == 200
    assert client.get("/api/v1/queues").status_code == 200
    assert client.get("/admin/").status_code == 200


def test_with_a_key_all_is_open(ada: User, must: Callable[..., None]) -> None:
    must("administrator")
    client = signed_in(ada)

    asked = client.get(ADD_KEY).context["js_data"]["creation_options"]
    said = {"name": "Blue", "credential": SoftKey().added(asked)}
    client.post(ADD_KEY, said)

    assert client.get("/").status_code == 200


def test_recovery_codes_alone_are_no_second_factor(
    ada: User, must: Callable[..., None]
) -> None:
    must("administrator")
    give_codes(ada)

    assert signed_in(ada).get("/")["Location"] == INDEX


@pytest.mark.parametrize(
    ("groups", "is_superuser", "waits"),
    [
        ((), True, False),
        (("operator",), False, False),
        (("operator",), True, False),
        (("superusers",), False, False),
        (("superusers",), True, True),
        (("*",), False, True),
        (("viewer", "administrator"), False, True),
    ],
)
def test_groups_say_whose_sign_in_takes_one(
    ada: User,
    must: Callable[..., None],
    groups: tuple[str, ...],
    is_superuser: bool,
    waits: bool,
) -> None:
    ada.is_superuser = is_superuser
    ada.save()
    must(*groups)

    assert (signed_in(ada).get("/").status_code == 302) is waits


def test_whoever_comes_to_such_a_group_is_led_there_at_once(
    ada: User, must: Callable[..., None]
) -> None:
    client = signed_in(ada)
    assert client.get("/").status_code == 200

    must("administrator")

    assert client.get("/")["Location"] == INDEX
    client.post(reverse("console:logout"))
    assert client.get("/")["Location"].startswith("/accounts/login/")


def test_a_session_that_waits_ends_with_its_password(
    ada: User, must: Callable[..., None]
) -> None:
    must("*")
    client = signed_in(ada)
    ada.set_password("battery staple 7")
    ada.save()

    assert client.get(INDEX)["Location"].startswith("/accounts/login/")


def test_who_removes_the_last_one_is_led_there_again(
    ada: User, must: Callable[..., None]
) -> None:
    must("*")
    give_app(ada)
    client = signed_in(ada)
    client.post(CODE, {"code": code_now()})

    client.post(reverse("mfa_deactivate_totp"))

    assert client.get("/")["Location"] == INDEX


def test_credentials_are_not_people(ada: User, must: Callable[..., None]) -> None:
    must("*")
    _, secret = credentials.create("shop", ada)

    machine = Client(headers={"Authorization": f"Bearer {secret}"})

    assert machine.get("/api/v1/queues").status_code == 200
    both = signed_in(ada)
    shown = {"Authorization": f"Bearer {secret}"}
    assert both.get("/api/v1/queues", headers=shown).status_code == 200


def test_a_client_of_amqp_has_no_way_round_with_the_password(
    ada: User, must: Callable[..., None]
) -> None:
    assert authenticate("ada", PASSWORD, "192.0.2.1") == ada
    must("administrator")
    assert authenticate("ada", PASSWORD, "192.0.2.1") is None
    must()
    give_app(ada)
    assert authenticate("ada", PASSWORD, "192.0.2.1") is None


def test_settings_have_no_way_in_of_their_own(ada: User) -> None:
    give_app(ada)
    client, said = Client(), {"username": "ada", "password": PASSWORD}

    answer = client.get("/admin/", follow=True)
    posted = client.post("/admin/login/?next=/admin/", said)

    assert answer.redirect_chain[-1][0] == "/accounts/login/?next=/admin/"
    assert posted["Location"] == "/accounts/login/?next=/admin/"
    assert client.get("/admin/").status_code == 302
    assert give_password(client, ada, next="/admin/") == CODE
    assert client.get("/admin/").status_code == 302
    assert client.post(CODE, {"code": code_now()})["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_settings_show_nothing_of_second_factors(ada: User) -> None:
    ada.is_superuser = True
    ada.save()
    client = signed_in(ada)
    give_app(ada)

    assert "uthenticator" not in client.get("/admin/").content.decode()
    for path in ("mfa/authenticator/", "account/emailaddress/"):
        assert client.get(f"/admin/{path}").status_code == 404


@pytest.mark.parametrize(
    "path", ["signup/", "email/", "password/reset/", "2fa/", "logout/all/", "social/"]
)
def test_nothing_else_of_allauth_is_there(client: Client, path: str) -> None:
    assert client.get(f"/accounts/{path}").status_code == 404


def test_a_command_lets_back_in_who_lost_it(
    ada: User, capsys: pytest.CaptureFixture[str]
) -> None:
    give_app(ada)
    give_key(ada)
    give_codes(ada)
    client = signed_in(ada)
    client.post(CODE, {"code": code_now()})

    call_command("reset_second_factor", "ada")

    assert capsys.readouterr().out == (
        "Second factor of ada: removed authenticator app, security key, recovery"
        " codes. Sessions ended: 1.\n"
    )
    assert client.get("/").status_code == 302
    assert not Authenticator.objects.exists()
    record = AuditRecord.objects.get(act=Act.RESET_FACTOR)
    assert (record.actor_kind, record.object_name) == ("system", "ada")
    assert record.details["sessions"] == 1
    assert not AuditRecord.objects.filter(act=Act.REMOVE_FACTOR).exists()
    assert give_password(Client(), ada) == "/"


def test_a_command_says_that_there_is_nobody() -> None:
    with pytest.raises(CommandError, match="There is no user x"):
        call_command("reset_second_factor", "x")


def test_an_administrator_lets_back_in_who_lost_it(sign_in: SignIn, ada: User) -> None:
    give_app(ada)
    lost = signed_in(ada)
    lost.post(CODE, {"code": code_now()})
    client = sign_in("administrator")
    said = {"action": "reset_second_factor", "_selected_action": [ada.pk]}

    page = client.post("/admin/auth/user/", said, follow=True).content.decode()

    assert "Second factor of ada: removed authenticator app." in page
    assert not BrowserSession.objects.filter(user=ada).exists()
    record = AuditRecord.objects.get(act=Act.RESET_FACTOR)
    assert (record.actor, record.object_name) == ("administrator", "ada")


def test_who_may_not_change_users_resets_nothing(sign_in: SignIn, ada: User) -> None:
    give_app(ada)
    client = sign_in("operator")
    User.objects.filter(username="operator").update(is_staff=True)
    said = {"action": "reset_second_factor", "_selected_action": [ada.pk]}

    assert client.post("/admin/auth/user/", said).status_code == 403
    assert Authenticator.objects.exists()


def test_a_user_who_goes_leaves_no_record_of_removed_factors(ada: User) -> None:
    give_app(ada)

    ada.delete()

    assert not AuditRecord.objects.filter(act=Act.REMOVE_FACTOR).exists()
