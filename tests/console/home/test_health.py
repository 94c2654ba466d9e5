"""The page of health: what is found, who is told, and where it is put right."""

from __future__ import annotations

import inspect
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from broker.config import lint
from broker.models import AddressSetting, ModelQueue
from broker.queueing.put import put_many
from console.accounts import roles
from console.layout import settings_problems
from dashboards.live import problems
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import EVIL, words
from tests.make import (
    make_authority,
    make_messages,
    make_queue,
    make_setting,
    make_user,
)

pytestmark = pytest.mark.django_db

HEALTH = reverse("console:health")
DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
KEPT_S = problems.KEPT_S["settings"]  # outside of tests


@pytest.fixture(autouse=True)
def _small_messages(settings: Settings) -> None:
    settings.BROKER_DEAD_LETTER_QUEUE = DLQ
    settings.BROKER_MAX_MESSAGE_BYTES = 10_000


@pytest.fixture
def omar(db: None) -> User:
    """An operator who has no authority on any queue yet."""
    return make_user("omar", permissions=tuple(roles.ROLES["operator"]), granted=())


def shown(client: Client, path: str = HEALTH) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def rows(html: str) -> list[str]:
    """What is found, one after the other."""
    (table,) = re.findall(r'<table class="[^"]*findings">.*?</table>', html, re.DOTALL)
    found = re.findall(r"<tr data-row>.*?</tr>", table, re.DOTALL)
    return [words(f"<main>{row}</main>") for row in found]


def badge(html: str) -> str:
    found = re.search(r'count-warn">(\d+)', html)
    return found[1] if found else ""


@pytest.mark.spec("ASF-12")
def test_where_nothing_is_wrong_it_says_what_was_looked_at(sign_in: SignIn) -> None:
    make_queue(DLQ)

    html = shown(sign_in("viewer"))

    said = words(html)
    assert "No settings need to be fixed. Nothing to do here." in said
    assert (
        f"the broker’s dead letter queue, {DLQ}, exists, takes puts, is at most 80 %"
        in said
    )
    assert "with the 172 bytes of a dead letter header" in said
    assert "You see only problems of the queues that you may inquire" not in said
    assert badge(html) == ""


@pytest.mark.spec("ASF-12")
def test_a_missing_dead_letter_queue_is_told_with_the_way_to_make_it(
    sign_in: SignIn,
) -> None:
    html = shown(sign_in("administrator"))

    (row,) = rows(html)
    assert row.startswith(f"{DLQ} does not exist")
    assert "what cannot be put anywhere else is lost, or stops its consumers." in row
    assert "Create it, or name another one" in row
    url = f"{reverse('admin:broker_queue_add')}?name={DLQ}"
    assert f'href="{url}"' in html
    assert badge(html) == "1"


@pytest.mark.spec("ASF-12")
def test_a_dead_letter_queue_that_fills_is_told_before_all_else(
    sign_in: SignIn,
) -> None:
    make_queue("A FIRST ONE", backout_threshold=3)
    dead = make_queue(DLQ)
    put_many(make_messages(9, DLQ))
    dead.max_depth = 10
    dead.save()

    html = shown(sign_in("viewer"))

    first, second = rows(html)
    assert "is more than 80 % full: it holds 9 of 10 messages." in first
    assert "Resubmit or discard some, or raise its max depth." in first
    assert second.startswith("A FIRST ONE")
    assert first.endswith(f"See its messages for {DLQ}")
    assert f'class="button" href="{reverse("console:queue", args=[DLQ])}"' in html
    dead.max_depth = 12
    dead.save()
    assert len(rows(shown(sign_in("operator")))) == 1


@pytest.mark.spec("ASF-12")
def test_a_dead_letter_queue_that_takes_too_little_is_told(sign_in: SignIn) -> None:
    make_queue(max_message_bytes=1000)
    dead = make_queue(DLQ, max_message_bytes=1171)
    client = sign_in("administrator")

    html = shown(client)

    (row,) = rows(html)
    assert "takes 1,171 bytes a message, but the largest that queues hold have" in row
    assert "Raise its max message bytes to 1,172, or leave them empty." in row
    assert f'href="{reverse("admin:broker_queue_change", args=[dead.pk])}"' in html
    dead.max_message_bytes = 1172
    dead.save()
    assert "No settings need to be fixed." in shown(client)


@pytest.mark.spec("POISON-10")
def test_a_threshold_without_a_backout_queue_is_told_of_queues_and_their_models(
    sign_in: SignIn,
) -> None:
    make_queue(DLQ)
    orders = make_queue(backout_threshold=3)
    model = ModelQueue.objects.create(name="MODEL", backout_threshold=4)

    html = shown(sign_in("administrator"))

    of_model, of_queue = rows(html)
    assert of_model.startswith("MODEL model queue")
    assert "MODEL has a backout threshold of 4 and no backout queue" in of_model
    assert "orders has a backout threshold of 3 and no backout queue" in of_queue
    assert "Name a backout queue." in of_queue
    assert f'href="{reverse("admin:broker_queue_change", args=[orders.pk])}"' in html
    url = reverse("admin:broker_modelqueue_change", args=[model.pk])
    assert f'href="{url}"' in html
    assert badge(html) == "2"


@pytest.mark.spec("UNIFY-3")
def test_a_threshold_that_is_never_reached_is_told_with_both_places_to_mend_it(
    sign_in: SignIn,
) -> None:
    make_queue(DLQ)
    make_queue("poison")
    orders = make_queue(backout_threshold=3, backout_queue="poison")
    make_setting(
        "#",
        poison_policy=AddressSetting.PoisonPolicy.BOTH,
        max_delivery_attempts=3,
        dead_letter_address="poison",
    )

    html = shown(sign_in("administrator"))

    (row,) = rows(html)
    assert "orders has the poison policy “both” and a backout threshold of 3" in row
    assert "Set a threshold below 3, or allow more delivery attempts." in row
    assert f'href="{reverse("admin:broker_queue_change", args=[orders.pk])}"' in html
    assert f'href="{reverse("admin:broker_addresssetting_changelist")}"' in html


def test_a_backout_queue_that_is_missing_can_be_made_from_here(sign_in: SignIn) -> None:
    make_queue(DLQ)
    make_queue(backout_threshold=3, backout_queue="bad & old")

    html = shown(sign_in("administrator"))

    assert f'href="{reverse("admin:broker_queue_add")}?name=bad+%26+old"' in html


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_who_may_not_change_settings_is_told_who_may(
    sign_in: SignIn, role: str
) -> None:
    make_queue(backout_threshold=3)

    html = shown(sign_in(role))

    assert all(row.endswith("An administrator can.") for row in rows(html))
    assert "/admin/" not in html


def test_who_does_not_get_into_the_settings_is_not_sent_there(
    sign_in: SignIn,
) -> None:
    client = sign_in("administrator")
    User.objects.update(is_staff=False)

    assert "/admin/" not in shown(client)


@pytest.mark.spec("POISON-10")
def test_a_finding_is_told_on_the_page_of_its_queue_and_of_no_other(
    sign_in: SignIn,
) -> None:
    make_queue(DLQ)
    make_queue("bills")
    make_queue(backout_threshold=3)
    client = sign_in("viewer")

    about, other = (
        shown(client, reverse("console:queue", args=[name]))
        for name in ("orders", "bills")
    )

    assert (
        "and no backout queue: poison messages go to the dead letter queue, or are"
        " discarded if they ask for that. Name a backout queue. See all settings to"
        " fix"
    ) in words(about)
    assert f'<a href="{HEALTH}">See all' in about
    assert "See all settings" not in words(other)
    assert "backout threshold" not in words(other)


def test_one_is_told_of_the_queues_that_one_may_inquire(
    omar: User, client: Client
) -> None:
    make_queue("bills", backout_threshold=3)
    make_queue(backout_threshold=3)
    make_authority(omar, "inquire", pattern="orders")
    client.force_login(omar)

    html = shown(client)

    assert [row.split()[0] for row in rows(html)] == ["orders"]
    assert "bills" not in html
    assert badge(html) == "1"
    assert "You see only problems of the queues that you may inquire." in words(html)


def test_the_count_on_other_pages_is_a_few_seconds_old_at_most(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert badge(shown(client, "/")) == "1"
    make_queue(DLQ)
    assert badge(shown(client, "/")) == "1"
    assert KEPT_S <= 15

    assert badge(shown(client)) == ""  # which looks anew, and so do all after it

    assert badge(shown(client, "/")) == ""


def test_what_somebody_named_a_queue_stays_text(sign_in: SignIn) -> None:
    make_queue(DLQ)
    make_queue("q", backout_threshold=3, backout_queue=EVIL)

    html = shown(sign_in("administrator"))

    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_of_many_findings_the_first_are_shown(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.home.pages.health.MOST", 2)
    make_queue(DLQ)
    for number in range(5):
        make_queue(f"q{number}", backout_threshold=3)

    html = shown(sign_in("viewer"))

    assert [row.split()[0] for row in rows(html)] == ["q0", "q1"]
    assert "5 settings to fix" in words(html)
    assert "And 3 more; they appear" in words(html)


@pytest.mark.usefixtures("badge_is_known")
def test_the_page_asks_a_fixed_number_of_questions(
    sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_queue(DLQ, max_depth=1)
    for number in range(20):
        make_queue(f"q{number}", backout_threshold=3)
    client = sign_in("administrator")

    with django_assert_max_num_queries(19):
        shown(client)


def test_looking_changes_nothing(sign_in: SignIn) -> None:
    make_queue(backout_threshold=3)
    client = sign_in("administrator")
    tables = connection.introspection.table_names()
    every = " UNION ALL ".join(
        f"SELECT ctid, t::text FROM {table} AS t"
        for table in tables
        if table.startswith("broker_")
    )

    def everything() -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(every)
            return sorted(map(str, cursor.fetchall()))

    before = everything()
    shown(client)

    assert everything() == before
    assert client.post(HEALTH).status_code == 405


def test_it_is_for_those_who_may_see_queues(client: Client) -> None:
    assert client.get(HEALTH).status_code == 302
    client.force_login(make_user())

    assert client.get(HEALTH).status_code == 403


def test_what_concerns_all_queues_is_advice_that_there_is() -> None:
    codes = set(re.findall(r'"([a-z-]+)",\n', inspect.getsource(lint)))

    assert codes >= settings_problems.OF_ALL
