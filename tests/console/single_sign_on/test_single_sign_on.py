"""Sign-in through OpenID Connect, with a provider that runs beside the test."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.conf import settings as of_project
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from broker.models import Act, AuditRecord
from console.single_sign_on.protocol import nonce_of
from tests.console.ports import kept_port
from tests.console.second_factors.factors import code_now, give_app
from tests.identity import CLIENT, SECRET, person
from tests.make import make_user

pytestmark = pytest.mark.django_db
GROUPS = {"ops": "operator", "chiefs": "administrator"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """A provider that runs as a program; its URL."""
    with kept_port() as port:
        callback = f"{person.CONSOLE}/accounts/single-sign-on/back/"
        program = [sys.executable, "-m", "tests.identity.provider"]
        with subprocess.Popen(
            [*program, str(port), callback],
            cwd=of_project.BASE_DIR,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield f"http://127.0.0.1:{port}"
            process.kill()


@pytest.fixture(autouse=True)
def provider(issuer: str, settings: Any) -> dict[str, Any]:
    """The settings of the console, which a test may change."""
    settings.BACKOUT_OIDC = {
        "issuer": issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "name": "Acme ID",
        "groups_claim": "realm.groups",
        "groups": dict(GROUPS),
    }
    cache.clear()
    told(issuer, olga=["ops", "others"])
    found: dict[str, Any] = settings.BACKOUT_OIDC
    return found


def told(issuer: str, **people: Any) -> None:
    requests.post(f"{issuer}/people/", json=people, timeout=9).raise_for_status()


def words(answer: Any) -> str:
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return " ".join(unescape(text).split())


def groups_of(name: str) -> list[str]:
    found = Group.objects.filter(user__username=name).order_by("name")
    return list(found.values_list("name", flat=True))


def test_the_provider_s_groups_are_roles_at_each_sign_in(
    client: Client, issuer: str
) -> None:
    assert "Sign in with Acme ID" in words(client.get(reverse("account_login")))

    page = person.sign_in(client, "olga", next="/messages/")

    assert page.status_code == 200
    assert page.wsgi_request.path == "/messages/"
    assert page.wsgi_request.user.get_username() == "olga"
    assert groups_of("olga") == ["operator"]
    user = User.objects.get(username="olga")
    assert not user.has_usable_password()
    assert not user.is_staff
    user.groups.add(Group.objects.get(name="auditor"))  # not the provider's to take
    told(issuer, olga=["chiefs"])
    person.sign_in(client, "olga")
    assert groups_of("olga") == ["administrator", "auditor"]
    assert User.objects.get(username="olga").is_staff

    acts = list(AuditRecord.objects.order_by("pk").values_list("act", "actor"))
    assert acts == [
        *((act, "olga") for act in (Act.CREATE_ACCOUNT, Act.CHANGE, Act.SIGN_IN)),
        *((act, "olga") for act in (Act.CHANGE, Act.SIGN_OUT, Act.SIGN_IN)),
    ]
    assert SocialAccount.objects.get().extra_data == {}, "claims are not kept"
    assert not SocialToken.objects.exists()


def test_who_has_no_role_any_more_is_refused_and_loses_the_roles(
    client: Client, issuer: str
) -> None:
    person.sign_in(client, "olga")
    client.logout()
    told(issuer, olga=["others"], nemo=["others"])

    for name in ("olga", "nemo"):
        answer = person.sign_in(client, name)
        assert answer.status_code == 403
        assert "None of your groups at Acme ID gives a role here." in words(answer)
        assert client.get("/").status_code == 302
    assert groups_of("olga") == []
    assert not User.objects.filter(username="nemo").exists()
    refusals = AuditRecord.objects.filter(act=Act.SIGN_IN, outcome="refused")
    assert set(refusals.values_list("object_name", flat=True)) == {"olga", ""}


@pytest.mark.parametrize(
    "tampered",
    [
        {"nonce": "of another sign-in"},
        {"iss": "https://elsewhere.example"},
        {"aud": "another client"},
        {"exp": 1_500_000_000},
        {"page": "999"},  # the page of the user is another's
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    client: Client, issuer: str, tampered: dict[str, Any]
) -> None:
    told(issuer, tampered=tampered)

    answer = person.sign_in(client, "olga")

    assert answer.status_code == 403
    assert "The sign-in at Acme ID was not completed here" in words(answer)
    assert not User.objects.exists()


def test_an_answer_belongs_to_the_browser_that_asked_and_counts_once(
    client: Client,
) -> None:
    url = person.at_provider(person.asked(client), "olga")
    stranger = Client()

    assert person.come_back(stranger, url).status_code == 403
    assert person.come_back(client, url).status_code == 200
    assert person.come_back(client, url).status_code == 403
    denied = person.parameters(person.asked(stranger))["state"]
    back = reverse("single_sign_on_callback")
    answer = stranger.get(back, {"error": "access_denied", "state": denied})
    assert answer.status_code == 403


def test_it_asks_with_proofs_and_with_nothing_that_a_visitor_adds(
    client: Client,
) -> None:
    asked = person.parameters(
        person.asked(client, process="connect", scope="admin", next="//evil.example/")
    )

    assert asked["scope"].split() in (["openid", "profile"], ["profile", "openid"])
    assert asked["code_challenge_method"] == "S256"
    assert asked["nonce"] == nonce_of(asked["state"])
    assert client.get(reverse("single_sign_on")).status_code == 405


def test_a_code_of_another_verifier_is_refused(client: Client) -> None:
    """The provider checks the PKCE verifier of the browser's own session."""
    person.asked(client)
    url = person.at_provider(person.asked(client), "olga")
    session = client.session
    for state, *_ in session["socialaccount_states"].values():
        state["pkce_code_verifier"] = "x" * 43
    session.save()

    assert person.come_back(client, url).status_code == 403


def test_a_local_account_of_the_same_name_is_not_taken_over(client: Client) -> None:
    make_user("Olga")

    answer = person.sign_in(client, "olga")

    assert answer.status_code == 403
    assert "There is another account olga here" in words(answer)
    assert not SocialAccount.objects.exists()


def test_an_account_that_is_switched_off_stays_off(client: Client) -> None:
    person.sign_in(client, "olga")
    client.logout()
    User.objects.update(is_active=False)

    answer = person.sign_in(client, "olga")

    assert "The account olga is switched off here." in words(answer)


def test_the_console_s_second_factor_is_asked_for_unless_the_provider_s_is_trusted(
    client: Client, provider: dict[str, Any], settings: Any
) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["operator"]
    must_set_up = person.sign_in(client, "olga")
    assert must_set_up.wsgi_request.path == reverse("mfa_index")
    assert client.get("/").status_code == 302

    give_app(User.objects.get())
    asks = person.sign_in(client, "olga")
    assert asks.wsgi_request.path == reverse("mfa_authenticate")
    done = client.post(reverse("mfa_authenticate"), {"code": code_now()}, follow=True)
    assert done.wsgi_request.user.get_username() == "olga"

    provider["second_factor"] = True
    trusted = Client()
    assert person.sign_in(trusted, "olga").wsgi_request.path == reverse(
        "console:overview"
    )
    Authenticator.objects.all().delete()
    assert trusted.get("/").status_code == 200
    provider["second_factor"] = False
    assert trusted.get("/").status_code == 302, "the setting holds for sessions, too"


def test_passwords_may_be_switched_off(
    client: Client, provider: dict[str, Any]
) -> None:
    make_user("omar")
    url, said = reverse("account_login"), {"username": "omar"}
    said["password"] = "correct horse"
    provider["only"] = True

    page = client.get(url).content.decode()
    assert "Sign in with Acme ID" in page
    assert 'type="password"' not in page
    assert client.post(url, said).status_code == 403
    provider["only"] = False
    assert client.post(url, said).status_code == 302


def test_a_provider_that_does_not_answer_is_told_in_a_sentence(
    client: Client, provider: dict[str, Any]
) -> None:
    with kept_port() as port:
        provider["issuer"] = f"http://127.0.0.1:{port}"
        answer = client.post(reverse("single_sign_on"))
    assert answer.status_code == 502
    assert "Acme ID does not answer as it should." in words(answer)


def test_without_a_provider_there_is_no_such_page(
    client: Client, settings: Any
) -> None:
    settings.BACKOUT_OIDC = {"issuer": ""}
    assert client.post(reverse("single_sign_on")).status_code == 404
    assert client.get(reverse("single_sign_on_callback")).status_code == 404
    assert 'type="password"' in client.get(reverse("account_login")).content.decode()
