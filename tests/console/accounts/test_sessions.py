"""Sessions: how long they last, that their keys change, and how one ends them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import Act, AuditRecord, Authority
from broker.security import credentials
from broker.security.audit import Actor, acting
from console.models import BrowserSession
from tests.console.conftest import SignIn
from tests.make import make_user

pytestmark = pytest.mark.django_db

PAGE, END = reverse("console:preferences"), reverse("console:end_session")


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


def browser(user: User, name: str = "") -> Client:
    client = Client(headers={"User-Agent": name})
    said = {"username": user.username, "password": "correct horse"}
    assert client.post("/accounts/login/", said).status_code == 302
    return client


def key_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def aged(**fields: int) -> None:
    """Sessions as they are once so many seconds have passed."""
    now = timezone.now()
    moments = {name: now - timedelta(seconds=age) for name, age in fields.items()}
    BrowserSession.objects.update(**moments)


def test_whoever_signs_in_gets_a_new_key_and_the_session_is_theirs(vera: User) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = planted = "a" * 32

    said = {"username": "vera", "password": "correct horse"}
    client.post("/accounts/login/", said, REMOTE_ADDR="10.0.0.7")

    assert key_of(client) != planted
    row = BrowserSession.objects.get()
    assert (row.pk, row.user, row.host) == (key_of(client), vera, "10.0.0.7")


@pytest.mark.parametrize(
    ("age", "lasts"),
    [
        ({"seen_at": 1799}, True),
        ({"seen_at": 1801}, False),
        ({"began_at": 43_199}, True),
        ({"began_at": 43_201}, False),
    ],
)
def test_a_session_ends_when_nothing_is_done_and_after_half_a_day(
    vera: User, age: dict[str, int], lasts: bool
) -> None:
    client = browser(vera)
    aged(**age)

    assert (client.get("/").status_code == 200) is lasts
    again = Client()
    again.cookies = client.cookies
    assert (again.get("/api/v1/queues").status_code == 200) is lasts
    assert BrowserSession.objects.exists() is lasts


def test_what_is_over_is_deleted_when_somebody_signs_in(vera: User) -> None:
    browser(vera)
    BrowserSession.objects.update(expire_date=timezone.now())

    here = browser(vera)

    assert BrowserSession.objects.get().pk == key_of(here)


@pytest.mark.parametrize(
    ("mode", "is_an_act"), [("navigate", True), ("cors", False), ("", True)]
)
def test_only_what_a_person_does_keeps_a_session(
    vera: User, mode: str, is_an_act: bool
) -> None:
    client = browser(vera)
    aged(seen_at=120)

    client.get("/", headers={"Sec-Fetch-Mode": mode} if mode else {})

    seen = timezone.now() - BrowserSession.objects.get().seen_at
    assert (seen < timedelta(seconds=60)) is is_an_act


def grant(user: User) -> None:
    user.groups.add(Group.objects.get(name="operator"))


def promote(user: User) -> None:
    user.is_superuser = True
    user.save()


def widen(user: User) -> None:
    """As an administrator does it under Settings."""
    with acting(lambda: Actor.of(user, "")):
        Authority.objects.create(user=user, pattern="pay", may_set=True)


def widen_group(user: User) -> None:
    grant(user)
    BrowserSession.objects.update(is_stale=False)
    group = Group.objects.get(name="operator")
    group.permissions.remove(*group.permissions.all()[:1])


@pytest.mark.parametrize("change", [grant, promote, widen, widen_group])
def test_a_session_gets_a_new_key_when_rights_change(vera: User, change: Any) -> None:
    client = browser(vera)
    old = key_of(client)
    began_at = BrowserSession.objects.get().began_at
    change(vera)

    client.get("/")

    assert key_of(client) != old
    assert client.get("/").status_code == 200
    row = BrowserSession.objects.get()
    assert (row.pk, row.is_stale) == (key_of(client), False)
    assert abs(row.began_at - began_at) < timedelta(seconds=1)


def test_a_new_password_ends_all_other_sessions(vera: User) -> None:
    client, other = browser(vera), browser(vera)
    old = key_of(client)
    new = {"new_password1": "battery staple 7", "new_password2": "battery staple 7"}

    client.post("/accounts/password/", {"old_password": "correct horse"} | new)

    assert key_of(client) != old
    assert client.get("/").status_code == 200
    assert other.get("/").status_code == 302


def test_who_is_made_inactive_is_out_at_once(vera: User) -> None:
    client = browser(vera)
    _, secret = credentials.create("shop", vera)
    machine = Client(headers={"Authorization": f"Bearer {secret}"})
    assert machine.get("/api/v1/queues").status_code == 200

    vera.is_active = False
    vera.save()

    assert client.get("/").status_code == 302
    assert client.get("/api/v1/queues").status_code == 401
    assert machine.get("/api/v1/queues").status_code == 401
    assert not BrowserSession.objects.exists()


def test_one_sees_where_one_is_signed_in_and_ends_it(vera: User) -> None:
    here, there = browser(vera, "Firefox"), browser(vera, "<b>Lynx</b>")
    stranger = browser(make_user("omar"), "Konqueror")

    page = here.get(PAGE).content.decode()

    assert "Firefox" in page
    assert "&lt;b&gt;Lynx" in page
    assert "Konqueror" not in page
    assert key_of(there) not in page
    (name,) = [part.split('"')[0] for part in page.split('name="session" value="')[1:2]]
    stranger.post(END, {"session": name})
    assert there.get("/").status_code == 200
    answer = here.post(END, {"session": name}, follow=True)
    assert "1 session ended." in answer.content.decode()
    assert there.get("/").status_code == 302
    assert here.get("/").status_code == 200
    record = AuditRecord.objects.get(act=Act.END_SESSION)
    assert (record.actor, record.object_name) == ("vera", "vera")


def test_all_others_are_ended_together_and_never_this_one(
    sign_in: SignIn, vera: User
) -> None:
    here, others = browser(vera), [browser(vera) for _ in range(3)]
    bystander = sign_in("viewer")

    answer = here.post(END, {"session": "others"}, follow=True)

    assert "3 sessions ended." in answer.content.decode()
    assert [one.get("/").status_code for one in others] == [302] * 3
    assert here.get("/").status_code == bystander.get("/").status_code == 200
