"""The second factor: set up, asked for after the password, and bounded."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import AuditRecord
from console.models import BrowserSession, CodeTries
from tests.console.second_factors.factors import (
    SECRET,
    code_at,
    code_now,
    give_app,
    give_codes,
    give_password,
    secret_on,
    wrong_code,
)
from tests.make import make_user, minutes

pytestmark = pytest.mark.django_db

CODE, INDEX = reverse("mfa_authenticate"), reverse("mfa_index")
APP, CODES = reverse("mfa_activate_totp"), reverse("mfa_view_recovery_codes")
ADD_KEY = reverse("mfa_add_webauthn")
WRONG = "The second factor was wrong, or it was used before."
REMOVALS = ("mfa_deactivate_totp", "mfa_generate_recovery_codes")


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


def records() -> list[tuple[str, str, str]]:
    """Acts on accounts, who did them, and how they ended; the oldest first."""
    found = AuditRecord.objects.filter(act__startswith="account.").order_by("pk")
    return [(one.act, one.actor, one.outcome) for one in found]


def half(user: User, client: Client | None = None, **said: str) -> Client:
    """A browser in which the password was right, and a code is asked for."""
    client = client or Client()
    assert give_password(client, user, **said) == CODE
    return client


def whole(user: User) -> Client:
    """A browser of somebody with an app who has signed in."""
    client = half(user)
    answer = client.post(CODE, {"code": code_now()})
    assert answer.status_code == 302
    return client


def test_codes_are_those_of_the_standard() -> None:
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # of RFC 6238

    assert code_at(59, secret) == "287082"
    assert code_at(1234567890, secret) == "005924"


def test_without_one_a_password_is_all_that_is_asked_for(vera: User) -> None:
    client = Client()

    assert give_password(client, vera) == "/"
    assert client.get("/").status_code == 200


def test_an_app_is_set_up_and_asked_for_at_the_next_sign_in(vera: User) -> None:
    client = Client()
    give_password(client, vera)
    secret = secret_on(client.get(APP).content.decode())

    refused = client.post(APP, {"code": wrong_code()})
    answer = client.post(APP, {"code": code_now(secret, steps=-1)}, follow=True)

    assert refused.status_code == 200
    assert answer.redirect_chain[-1][0] == CODES
    stored = Authenticator.objects.get(type="totp").data["secret"]
    assert secret not in stored
    again = half(vera, next="/operations/")
    assert again.get("/").status_code == 302
    answer = again.post(CODE, {"code": code_now(secret)})
    assert answer["Location"] == "/operations/"
    assert again.get("/").status_code == 200
    assert ("account.add_factor", "vera", "done") in records()
    assert ("account.new_codes", "vera", "done") in records()
    everything = "".join(map(str, AuditRecord.objects.values_list()))
    assert secret not in everything


def test_half_a_sign_in_is_nobody(vera: User) -> None:
    give_app(vera)

    client = half(vera)

    assert client.get("/")["Location"].startswith("/accounts/login/?next=")
    assert client.get("/api/v1/queues").status_code == 401
    assert client.get(INDEX)["Location"].startswith("/accounts/login/")
    assert client.get("/admin/").status_code == 302
    assert BrowserSession.objects.get().user is None
    assert ("account.sign_in", "vera", "done") not in records()


def test_half_a_sign_in_has_a_key_that_nobody_planted(vera: User) -> None:
    give_app(vera)
    client = Client()
    client.get("/")
    client.session.save()
    planted = client.session.session_key

    half(vera, client)
    first = client.session.session_key
    client.post(CODE, {"code": code_now()})

    assert len({planted, first, client.session.session_key}) == 3


def test_half_a_sign_in_ends_after_five_minutes(
    vera: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_app(vera)
    client = half(vera)
    later = timezone.now() + minutes(5.1)

    monkeypatch.setattr("time.time", later.timestamp)

    assert client.get(CODE)["Location"] == "/accounts/login/"


@pytest.mark.parametrize("change", ["password", "is_active"])
def test_half_a_sign_in_ends_with_its_password_and_its_account(
    vera: User, change: str
) -> None:
    give_app(vera)
    client = half(vera)
    if change == "password":
        vera.set_password("battery staple 7")
    else:
        vera.is_active = False
    vera.save()

    answer = client.post(CODE, {"code": code_now()})

    assert answer["Location"] == "/accounts/login/"
    assert client.get("/").status_code == 302


def test_whoever_signs_in_as_somebody_else_is_signed_out_first(vera: User) -> None:
    client = Client()
    give_password(client, make_user("omar"))
    give_app(vera)

    half(vera, client)

    assert client.get("/api/v1/queues").status_code == 401
    client.post(CODE, {"code": code_now()})
    assert client.get(reverse("console:rights")).context["user"] == vera


@pytest.mark.parametrize("next", ["https://evil.example/", "//evil.example"])
def test_a_code_leads_nowhere_else(vera: User, next: str) -> None:  # noqa: A002
    give_app(vera)
    client = half(vera, next=next)

    assert client.post(CODE, {"code": code_now()})["Location"] == "/"


def test_a_code_is_not_taken_twice_nor_one_from_before(vera: User) -> None:
    give_app(vera)
    earlier, now, later = (code_now(steps=steps) for steps in (-1, 0, 1))
    assert half(vera).post(CODE, {"code": now}).status_code == 302

    for code in (now, earlier):
        assert WRONG in half(vera).post(CODE, {"code": code}).content.decode()

    assert half(vera).post(CODE, {"code": later}).status_code == 302


def test_the_code_that_set_up_the_app_is_taken(vera: User) -> None:
    client = Client()
    give_password(client, vera)
    secret = secret_on(client.get(APP).content.decode())
    code = code_now(secret)
    client.post(APP, {"code": code})

    assert WRONG in half(vera).post(CODE, {"code": code}).content.decode()


def test_too_many_wrong_codes_lock_also_the_right_one(vera: User) -> None:
    give_app(vera)
    for number in range(5):
        client = half(vera)
        host = f"10.0.0.{number}"
        answer = client.post(CODE, {"code": wrong_code()}, REMOTE_ADDR=host)
        assert WRONG in answer.content.decode()

    answer = client.post(CODE, {"code": code_now()})

    assert "too many wrong attempts" in answer.content.decode()
    assert client.get("/").status_code == 302
    refused = [one for one in records() if one[2] == "refused"]
    assert refused == [("account.sign_in", "", "refused")] * 6
    CodeTries.objects.update(wrong_at=timezone.now() - minutes(15))
    assert client.post(CODE, {"code": code_now()}).status_code == 302


def test_a_right_code_ends_the_count_of_wrong_ones(vera: User) -> None:
    give_app(vera)
    for _ in range(4):
        half(vera).post(CODE, {"code": wrong_code()})

    whole(vera)

    assert CodeTries.objects.get().wrong == 0


def test_a_recovery_code_signs_in_once(vera: User) -> None:
    give_app(vera)
    code = give_codes(vera)[3]

    first = half(vera).post(CODE, {"code": code}, follow=True)
    second = half(vera).post(CODE, {"code": code})

    assert "9 are left" in first.content.decode()
    assert WRONG in second.content.decode()
    assert ("account.use_code", "vera", "done") in records()
    everything = "".join(map(str, AuditRecord.objects.values_list()))
    assert code not in everything


def test_recovery_codes_are_shown_once_and_made_anew(vera: User) -> None:
    give_app(vera)
    old = give_codes(vera)
    client = whole(vera)
    shown = client.get(CODES).content.decode()
    assert all(code in shown for code in old)
    file = reverse("mfa_download_recovery_codes")
    assert client.get(file).content.decode() == "".join(f"{code}\n" for code in old)
    assert client.get(file).status_code == 404

    assert not any(code in client.get(CODES).content.decode() for code in old)
    answer = client.post(reverse("mfa_generate_recovery_codes"), follow=True)

    page = answer.content.decode()
    assert "They are shown only now." in page
    assert not any(code in page for code in old)
    assert WRONG in half(vera).post(CODE, {"code": old[0]}).content.decode()
    assert records().count(("account.new_codes", "vera", "done")) == 2


@pytest.mark.parametrize("name", REMOVALS)
def test_what_weakens_an_account_takes_the_password_again(
    vera: User, name: str
) -> None:
    give_app(vera)
    give_codes(vera)
    client = whole(vera)
    session = client.session
    for one in session["account_authentication_methods"]:
        one["at"] -= 301
    session.save()

    answer = client.get(reverse(name), follow=True)

    again = reverse("account_reauthenticate")
    assert answer.redirect_chain[-1][0].startswith(again)
    url = f"{again}?next={reverse(name)}"
    assert "is wrong" in client.post(url, {"password": "x"}).content.decode()
    assert records()[-1] == ("account.sign_in", "vera", "refused")
    answer = client.post(url, {"password": "correct horse"})
    assert answer["Location"] == reverse(name)
    assert client.post(reverse(name)).status_code == 302


def test_a_new_password_keeps_the_second_factor(vera: User) -> None:
    give_app(vera)
    vera.set_password("battery staple 7")
    vera.save()

    half(vera, password="battery staple 7")


def test_secrets_are_stored_under_the_secret_key(vera: User, settings: object) -> None:
    give_app(vera)
    client = half(vera)
    old = settings.SECRET_KEY  # type: ignore[attr-defined]
    row = Authenticator.objects.get()
    assert SECRET not in str(row.data)

    settings.SECRET_KEY_FALLBACKS = [old]  # type: ignore[attr-defined]
    settings.SECRET_KEY = "another" * 9  # type: ignore[attr-defined]
    assert half(vera).post(CODE, {"code": code_now()}).status_code == 302
    settings.SECRET_KEY_FALLBACKS = []  # type: ignore[attr-defined]
    answer = half(vera).post(CODE, {"code": code_now(steps=1)})

    assert "another secret key" in answer.content.decode()
    assert client is not None
