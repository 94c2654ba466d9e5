"""Prepared units of work on the page of health, and who decides about them there."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from broker.models import Act, Authority, Event, Kind, Queue
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put_many
from broker.security import authorities
from broker.settlement.poison import Removing
from broker.transactions.prepared import commit_prepared, prepare, prepared
from broker.transactions.scope import UnitOfWork
from console.accounts import roles
from tests.broker.promising import promise, ready
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import (
    make_authority,
    make_messages,
    make_queue,
    make_setting,
    make_user,
)

pytestmark = pytest.mark.django_db

HEALTH = reverse("console:health")
WHY = {"reason": "The bank has it as committed."}


@pytest.fixture
def orders(db: None) -> Queue:
    """Three messages wait on it; two of them will be in a prepared unit of work."""
    found = make_queue()
    put_many(make_messages(3))
    return found


@pytest.fixture
def answers(db: None) -> Queue:
    return make_queue("answers")


@pytest.fixture
def uow(orders: Queue, answers: Queue) -> int:
    """Prepared as “branch 1”."""
    found = promise().id
    assert found is not None
    return found


@pytest.fixture
def omar(db: None) -> User:
    """An operator who has no authority on any queue yet."""
    return make_user("omar", permissions=tuple(roles.ROLES["operator"]), granted=())


def may(user: User, **granted: tuple[authorities.Authority, ...]) -> None:
    Authority.objects.filter(user=user).delete()
    for pattern, some in granted.items():
        make_authority(user, *some, pattern=pattern)


def url(deed: str, uow: int) -> str:
    return reverse(f"console:{deed}_prepared", args=[uow])


def text(client: Client, path: str = HEALTH) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return words(answer.content.decode())


def test_where_none_waits_there_is_no_word_of_them(sign_in: SignIn) -> None:
    assert "Prepared units of work" not in text(sign_in("operator"))


@pytest.mark.spec("UOW-7")
def test_what_waits_is_told_by_its_xid_with_what_it_holds_and_sends(
    sign_in: SignIn, uow: int
) -> None:
    client = sign_in("operator")

    said = text(client)

    assert f"branch 1 unit of work {uow} 2026-03-14 12:00:00.000" in said
    assert "2 messages of orders. 1 message to answers." in said
    assert "Decide here only if the coordinator cannot decide any more." in said
    html = client.get(HEALTH).content.decode()
    assert url("commit", uow) in html
    assert url("back_out", uow) in html


def test_looking_decides_nothing(sign_in: SignIn, uow: int) -> None:
    client = sign_in("operator")

    for path in (HEALTH, url("commit", uow), url("back_out", uow)):
        text(client, path)

    assert [one.uow for one in prepared()] == [uow]
    assert deeds() == []


@pytest.mark.spec("UOW-7")
def test_an_operator_commits_after_a_look(
    sign_in: SignIn, uow: int, orders: Queue, answers: Queue
) -> None:
    client = sign_in("operator")
    asked = text(client, url("commit", uow))
    assert "Commit only if its coordinator committed the other parts" in asked
    assert "2 messages of orders. They are accepted, and leave." in asked

    answer = client.post(url("commit", uow), WHY, follow=True)

    assert answer.redirect_chain == [(HEALTH, 302)]
    said = words(answer.content.decode())
    assert f"Unit of work {uow} is committed." in said
    assert "branch 1" not in said
    assert (ready(orders), ready(answers)) == (1, 1)
    accepted = Event.objects.get(kind=Kind.ACCEPT)
    assert (accepted.actor, accepted.n) == ("operator", 2)
    assert fsck.violations() == []


@pytest.mark.spec("UOW-7")
def test_an_operator_backs_out_and_the_messages_say_why(
    sign_in: SignIn, uow: int, orders: Queue, answers: Queue
) -> None:
    client = sign_in("operator")
    asked = text(client, url("back_out", uow))
    assert "Back out only if its coordinator rolled the other parts" in asked
    assert "1 message to answers. It is never sent." in asked

    gone = {"reason": "The bank is gone."}
    answer = client.post(url("back_out", uow), gone, follow=True)

    assert f"Unit of work {uow} is backed out." in words(answer.content.decode())
    assert (ready(orders), ready(answers)) == (3, 0)
    (back,) = Event.objects.filter(kind=Kind.BACK_OUT)
    assert back.detail is not None
    assert (back.actor, back.detail["error"]) == (
        "operator",
        "An operator backed out its prepared unit of work: The bank is gone.",
    )
    assert fsck.violations() == []


@pytest.mark.parametrize(
    ("deed", "act"),
    [("commit", Act.COMMIT_PREPARED), ("back_out", Act.BACK_OUT_PREPARED)],
)
def test_who_decided_and_why_is_kept_with_the_unit_and_its_queues(
    sign_in: SignIn, uow: int, orders: Queue, answers: Queue, deed: str, act: Act
) -> None:
    sign_in("operator").post(url(deed, uow), WHY)

    (record,) = deeds()
    assert (record.act, record.actor, record.object_id) == (act, "operator", str(uow))
    assert (record.object_name, record.reason) == ("branch 1", WHY["reason"])
    assert record.details["queues"] == ["orders"]


@pytest.mark.parametrize("deed", ["commit", "back_out"])
def test_without_a_reason_nothing_is_decided(
    sign_in: SignIn, uow: int, deed: str
) -> None:
    answer = sign_in("operator").post(url(deed, uow), {"reason": " "})

    assert answer.status_code == 422
    assert "Say why." in words(answer.content.decode())
    assert [one.uow for one in prepared()] == [uow]


@pytest.mark.parametrize("deed", ["commit", "back_out"])
def test_what_was_decided_meanwhile_is_said(
    sign_in: SignIn, uow: int, deed: str
) -> None:
    client = sign_in("operator")
    commit_prepared("branch 1")

    for answer in (
        client.get(url(deed, uow), follow=True),
        client.post(url(deed, uow), WHY, follow=True),
    ):
        said = words(answer.content.decode())
        assert f"Unit of work {uow} is not prepared any more" in said
    assert deeds() == []


def test_what_cannot_be_committed_stays_and_says_why(
    sign_in: SignIn, uow: int, answers: Queue
) -> None:
    Queue.objects.filter(pk=answers.pk).update(put_inhibited=True)

    answer = sign_in("operator").post(url("commit", uow), WHY)

    assert answer.status_code == 409
    assert "answers" in words(answer.content.decode())
    assert [one.uow for one in prepared()] == [uow]
    assert deeds() == []


def test_one_sees_it_who_may_inquire_all_of_its_queues(
    omar: User, client: Client, uow: int
) -> None:
    client.force_login(omar)
    for pattern in ("orders", "answers"):
        may(omar, **{pattern: authorities.ALL})
        assert "branch 1" not in text(client)
        answer = client.post(url("commit", uow), WHY, follow=True)
        assert "is not prepared any more" in words(answer.content.decode())
    may(omar, orders=("inquire",), answers=("inquire",))

    assert "branch 1" in text(client)
    assert prepared()


def test_one_decides_who_may_set_all_of_its_queues(
    omar: User, client: Client, uow: int
) -> None:
    client.force_login(omar)
    may(omar, orders=authorities.ALL, answers=("inquire", "put"))
    assert url("commit", uow) not in client.get(HEALTH).content.decode()
    assert "You lack the authority “set” on some of its queues." in text(client)
    answer = client.post(url("commit", uow), WHY)
    assert answer.status_code == 403
    assert "lacks the authority 'set' on queue 'answers'" in words(
        answer.content.decode()
    )
    assert prepared()

    may(omar, orders=("inquire", "set"), answers=("inquire", "set"))

    client.post(url("commit", uow), WHY)
    assert not prepared()


def test_a_viewer_is_told_who_may_decide(sign_in: SignIn, uow: int) -> None:
    client = sign_in("viewer")

    said = text(client)

    assert "Users with the role operator may decide." in said
    assert "Commit…" not in said
    assert client.post(url("commit", uow), WHY).status_code == 403
    assert client.get(url("back_out", uow)).status_code == 403


def test_a_unit_of_work_that_is_not_prepared_is_nobody_s_to_decide(
    sign_in: SignIn, orders: Queue
) -> None:
    work = UnitOfWork()
    work.get("orders")
    assert work.id is not None

    sign_in("operator").post(url("commit", work.id), WHY)

    assert UnitRow.objects.filter(pk=work.id).exists()
    assert journal.depths()[orders.pk].claimed == 1


def test_an_xid_is_text_whatever_is_in_it(
    sign_in: SignIn, orders: Queue, answers: Queue
) -> None:
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    prepare(work, "<b>x</b>")

    html = sign_in("operator").get(HEALTH).content.decode()

    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<b>x" not in html


def test_queues_that_are_gone_break_nothing(
    sign_in: SignIn, uow: int, orders: Queue, answers: Queue
) -> None:
    Queue.objects.all().delete()

    said = text(sign_in("operator"))

    assert "2 messages of a queue that is gone. 1 message to answers." in said


def test_what_it_takes_away_is_not_counted_as_sent(
    sign_in: SignIn, orders: Queue, answers: Queue
) -> None:
    """A poison message that goes to a backout queue is among those that it holds."""
    work = UnitOfWork(coordinated=True)
    (delivery,) = work.get("orders")
    work.remove(Removing(delivery, "answers", None))
    prepare(work, "branch 2")

    assert "1 message of orders. 0 messages." in text(sign_in("operator"))


@pytest.mark.usefixtures("badge_is_known")
def test_the_page_asks_a_fixed_number_of_questions(
    sign_in: SignIn,
    orders: Queue,
    answers: Queue,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    put_many(make_messages(9))
    make_setting()
    for number in range(5):
        promise(f"branch {number}", entries=1)
    client = sign_in("operator")

    with django_assert_max_num_queries(22):
        html = client.get(HEALTH).content.decode()

    assert re.findall(r"branch \d", html) == [f"branch {one}" for one in range(5)]
