"""The command line: what is held, delayed, discarded, edited and decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from broker.models import (
    Act,
    Alert,
    AlertSilence,
    Discarded,
    Message,
    Operation,
    Queue,
    Ready,
    UnitOfWork,
)
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork as Work
from console.accounts import roles
from tests.broker.handling import stopped
from tests.broker.promising import promise, ready
from tests.console.alerts.alert_acts import make_alert, make_mail_target
from tests.console.commanding import refused, run, told
from tests.console.consumers.api_work_acts import held
from tests.console.dead_letters.test_discards import throw_away
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import (
    make_messages,
    make_queue,
    make_user,
    minutes,
    plan_resubmit,
)

pytestmark = pytest.mark.django_db

DLQ = settings.BROKER_DEAD_LETTER_QUEUE
OLGA = ("--user", "olga")
VERA = ("--user", "vera")


@pytest.fixture(autouse=True)
def people() -> None:
    make_user("olga", permissions=tuple(roles.OPERATOR))
    make_user("vera", permissions=tuple(roles.OPERATOR), granted=("inquire",))


def test_units_of_work_are_listed_shown_and_backed_out() -> None:
    assert refused("uow", "list")[0] == 3
    uow = held()

    (row,) = told("uow", "list")["units"]
    shown = told("uow", "show", uow)
    planned = told("uow", "back-out", uow, *OLGA)
    assert planned == {"done": False}

    assert (row["id"], row["nature"], row["queues"]) == (uow, "leased", ["orders"])
    assert "shop.handle" in run("uow", "show", uow)
    assert [one["queue"] for one in shown["held"]] == ["orders"]
    assert UnitOfWork.objects.filter(pk=uow).exists()
    assert refused("uow", "back-out", uow, *OLGA, "--yes")[0] == 1, "without a reason"
    force = ("uow", "back-out", uow, "--yes", "--reason", "it hangs")
    code, why = refused(*force, *VERA)
    assert (code, "'set'" in why) == (1, True)
    assert told(*force, *OLGA) == {"id": uow}
    assert not UnitOfWork.objects.filter(pk=uow).exists()
    assert Ready.objects.get().backout_count == 1
    (deed,) = deeds(Act.BACK_OUT_UNIT)
    assert deed.actor == "olga"
    assert refused(*force)[0] == 1


def test_the_name_of_a_holder_cannot_move_the_cursor() -> None:
    make_queue()
    put("orders")
    work = Work(actor="\x1b[2J<b>")
    work.get("orders")

    for said in (
        run("uow", "list"),
        run("uow", "show", work.id),
    ):
        assert "\x1b" not in said + said.errors
        assert "[ESC][2J" in said + said.errors


@pytest.mark.parametrize(("end", "answers"), [("commit", 1), ("back-out", 0)])
def test_what_is_prepared_is_decided_with_a_reason(end: str, answers: int) -> None:
    make_queue()
    for one in make_messages(2):
        put(one.address)
    to = make_queue("answers")
    uow = promise("xid 7").id

    (row,) = told("prepared", "list")["prepared"]
    asked = told("prepared", end, uow, *OLGA)

    assert (row["uow"], row["xid"], row["to"]) == (uow, "xid 7", ["answers"])
    assert (asked["done"], ready(to)) == (False, 0)
    assert refused("prepared", end, uow, "--yes")[0] == 1
    why = ("--yes", "--reason", "compared")
    assert refused("prepared", end, uow, *why, *VERA)[0] == 1
    assert told("prepared", end, uow, *why, *OLGA)["committed"] is (end == "commit")
    assert ready(to) == answers
    assert refused("prepared", "list")[0] == 3
    assert refused("prepared", end, uow, *why)[0] == 1


def test_the_discard_bin_is_listed_and_restored() -> None:
    assert refused("discard", "list")[0] == 3
    first, second = throw_away(2)

    rows = told("discard", "list")["discards"]
    before = told("discard", "list", "--limit", 1)["next"]
    older = told("discard", "list", "--before", before)["discards"]
    assert told("discard", "restore", first, *OLGA)["done"] is False

    assert [one["message_id"] for one in rows] == [second, first]
    assert [one["message_id"] for one in older] == [first]
    assert Discarded.objects.count() == 2
    assert refused("discard", "restore", "--yes")[0] == 1
    assert refused("discard", "list", "--before", "x")[0] == 1
    (done,) = told("discard", "restore", first, "--yes", *OLGA)["messages"]
    assert done == {"message_id": first, "code": "", "detail": ""}
    assert Ready.objects.get().id == first
    assert refused("discard", "restore", first, "--yes", *OLGA)[0] == 3
    assert refused("discard", "restore", second, "--yes", *VERA)[0] == 3
    assert Discarded.objects.get().message_id == second


def test_delayed_messages_are_listed_over_all_queues() -> None:
    assert refused("scheduled", "list")[0] == 3
    now = timezone.now()
    for number, queue in enumerate(("orders", "invoices"), 1):
        make_queue(queue)
        put(queue, deliver_at=now + minutes(number))

    first, second = told("scheduled", "list")["messages"]
    page = told("scheduled", "list", "--limit", 1)
    (after,) = told("scheduled", "list", "--after", page["next"])["messages"]

    assert (first["queue"], second["queue"]) == ("orders", "invoices")
    assert after == second
    assert len(told("scheduled", "list", "--queue", "orders")["messages"]) == 1
    said = run("scheduled", "list", "--limit", 1).errors
    assert f"There are more: --after {page['next']}" in said
    assert refused("scheduled", "list", "--after", "x")[0] == 1


def test_stopped_delivery_is_listed_and_started() -> None:
    assert refused("consumer", "list")[0] == 3
    stopped()

    listed = told("consumer", "list")

    assert [one["queue"] for one in listed["stopped"]] == ["orders"]
    assert DLQ in run("consumer", "list")
    assert refused("consumer", "start", "orders", *OLGA)[0] == 1, "the cause remains"
    make_queue(DLQ)
    assert refused("consumer", "start", "orders", *VERA)[0] == 1
    assert told("consumer", "start", "orders", *OLGA)["changed"] is True
    assert refused("consumer", "start", "orders", *OLGA)[0] == 3
    assert not Queue.objects.get(name="orders").stopped


def test_one_message_is_edited(tmp_path: Path) -> None:
    make_places()
    letter = die(body=b'{"currency": "XBT"}', content_type="application/json")
    patch = tmp_path / "patch.json"
    patch.write_text(json.dumps({"body": {"merge": {"currency": "EUR"}}}))
    edit = ("message", "edit", letter.message_id, "--patch", patch, *OLGA)

    shown = told(*edit)

    assert shown["changes"] == ['− {"currency": "XBT"}', '+ {"currency": "EUR"}']
    assert not Operation.objects.exists()
    sent = told(*edit, "--yes", "--reason", "wrong currency")
    copy = Message.objects.get(pk=sent["message_id"])
    assert bytes(copy.body) == b'{"currency": "EUR"}'
    assert Operation.objects.get(pk=sent["operation_id"]).reason == "wrong currency"
    assert refused(*edit)[0] == 1
    code, said = refused("message", "edit", letter.message_id, *OLGA)
    assert (code, "Give a body" in said) == (1, True)
    body = tmp_path / "body"
    body.write_bytes(b"\x1b[2J")
    asked = run("message", "edit", copy.pk, "--body", body, *OLGA)
    assert "\x1b" not in asked
    assert "[ESC][2J" in asked


def plan() -> int:
    make_places(attempts=1)
    for _ in range(3):
        die(attempts=1)
    user = make_user("omar", permissions=tuple(roles.OPERATOR))
    return plan_resubmit(user, "all dead letters").pk


def test_an_operation_is_narrowed_started_and_undone() -> None:
    number = plan()

    (row,) = told("operation", "list")["operations"]
    narrowed = told("operation", "narrow", number, 2, *OLGA)
    asked = told("operation", "start", number, *OLGA)
    shown = told("operation", "show", number)

    assert (row["id"], row["planned"]) == (number, 3)
    assert (narrowed["planned"], shown["state"]) == (2, "planned")
    assert asked == {"done": False}
    start = ("operation", "start", number, "--canary", 0, "--reason", "stock", "--yes")
    assert refused(*start, *VERA)[0] == 1
    done = told(*start, *OLGA)
    assert (done["state"], done["done"]) == ("done", 2)
    undo = told("operation", "undo", number, *OLGA)
    assert (undo["state"], undo["planned"]) == ("planned", 2)
    assert told("operation", "cancel", undo["id"], *OLGA)["state"] == "cancelled"
    assert "2 done" in run("operation", "show", number)
    (item,) = told("operation", "items", number, "--limit", 1)["items"]
    assert (item["queue"], item["status"]) == ("DLQ", "done")
    assert refused("operation", "show", 987_654)[0] == 1
    assert refused("operation", "start", number, "--yes")[0] == 2, "without a user"


def test_an_operation_is_paced_paused_and_continued() -> None:
    number = plan()
    told("operation", "start", number, "--canary", 1, "--reason", "x", "--yes", *OLGA)

    paced = told("operation", "pace", number, "--pace", 7, *OLGA)
    told("operation", "pause", number, *OLGA)
    told("operation", "continue", number, *OLGA)

    assert paced["schedule"]["pace"] == 7
    acts = [Act.ALTER, Act.HALT, Act.CARRY_ON]
    assert [one.act for one in deeds(*acts)][-3:] == acts
    assert {one.actor for one in deeds(*acts)} == {"olga"}


def test_a_second_person_approves_the_seal_that_was_shown() -> None:
    make_user("ada", permissions=tuple(roles.ADMINISTRATOR))
    make_places(attempts=1)
    die(attempts=1)
    Queue.objects.filter(name="DLQ").update(approval_above=0)
    otto = make_user("otto", permissions=tuple(roles.OPERATOR))
    number = plan_resubmit(otto, "all dead letters").pk

    told("operation", "explain", number, "--reason", "stock came", "--user", "otto")
    seal = told("operation", "show", number)["approval"]["seal"]

    approve = ("operation", "approve", number, seal)
    assert seal in run("operation", "show", number)
    assert refused(*approve, *OLGA)[0] == 1, "no operator approves"
    told(*approve, "--user", "ada", "--reason", "fine")
    assert len(deeds(Act.APPROVE)) == 1
    assert Operation.objects.get(pk=number).reason == "stock came"


def test_alerts_are_listed_acknowledged_and_silenced(
    mailoutbox: list[Any],
) -> None:
    assert refused("alert", "list")[0] == 3
    make_queue()
    number = make_alert().pk
    make_mail_target()

    (row,) = told("alert", "list")["alerts"]
    acknowledged = told("alert", "acknowledge", number, "--reason", "on it", *OLGA)
    made = told("alert", "silence", "4 h", "--queue", "orders", *OLGA)

    assert (row["id"], row["state"], row["queue"]) == (number, "firing", "orders")
    assert acknowledged["acknowledged_by"] == "olga"
    assert "deep" in run("alert", "show", number)
    assert [one["id"] for one in told("alert", "silences")["silences"]] == [made["id"]]
    assert refused("alert", "acknowledge", number, *OLGA)[0] == 1
    assert refused("alert", "silence", "soon", "--queue", "orders")[0] == 2
    assert refused("alert", "silence", "1 h", "--fingerprint", "f" * 12, *VERA)[0] == 1
    told("alert", "end-silence", made["id"], *OLGA)
    assert refused("alert", "silences")[0] == 3
    assert AlertSilence.objects.count() == Alert.objects.count() == 1
    assert refused("alert", "test", "ops", *OLGA)[0] == 1, "it takes a permission"
    assert told("alert", "test", "ops")["target"] == "ops"


def test_what_queues_did_is_told_for_a_range() -> None:
    make_queue()

    assert refused("history", "queue", "orders", "--range", "1y")[0] == 2
    assert refused("history", "queue", "orders", "--from", "soon")[0] == 2
    assert refused("history", "queue", "nowhere")[0] == 1
    assert refused("history", "queue", "orders")[0] == 3, "nothing is known yet"
    assert refused("history", "total")[0] == 3
