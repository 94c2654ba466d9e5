"""The command line: the same deeds, for terminals and scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from broker.models import (
    Act,
    AddressSetting,
    AuditRecord,
    Message,
    Operation,
    Queue,
    Ready,
)
from broker.queueing.put import put as send
from broker.queueing.put import put_many
from console.accounts import roles
from tests.broker.dying import back_out, on
from tests.console.commanding import refused, run, told
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import NOON, make_messages, make_queue, make_setting, make_user

pytestmark = pytest.mark.django_db


def bodies() -> list[bytes]:
    rows = Message.objects.in_bulk(Ready.objects.values_list("id", flat=True))
    return [bytes(rows[pk].body) for pk in sorted(rows)]


def test_a_message_is_put_browsed_and_taken() -> None:
    make_queue("orders")
    options = ("-p", "tenant=t7", "--priority", 7, "--subject", "s", "--ttl", 60)

    put = told("put", "orders", "hello", *options)
    assert put["queues"] == ["orders"]
    stored = Message.objects.get(pk=put["message_id"])
    assert (stored.priority, stored.properties) == (7, {"tenant": "t7"})
    assert stored.expires_at is not None
    assert stored.producer == "command line"

    (entry,) = told("browse", "orders")["entries"]
    assert entry["message_id"] == put["message_id"]
    assert "hello" not in json.dumps(entry)
    (whole,) = told("browse", "orders", "--whole")["messages"]
    assert whole["body"] == "hello"

    assert "    hello\n" in run("browse", "orders", "--whole")
    assert "    hello\n" in run("message", "show", put["message_id"])
    shown = told("message", "show", put["message_id"])
    assert (shown["body"], shown["copies"]) == ("hello", [put["message_id"]])
    (why,) = told("message", "explain", put["message_id"])["explanations"]
    assert why["code"] == "no-consumer"
    assert "no-consumer" in run("message", "explain", put["message_id"])
    (taken,) = told("get", "orders", "--yes")["messages"]
    assert taken["body"] == "hello"
    assert bodies() == []


def test_a_poison_message_is_moved_and_not_taken() -> None:
    make_queue("BOQ")
    orders = make_queue("orders", backout_threshold=1, backout_queue="BOQ")
    put_many(make_messages(1), now=NOON)
    back_out("orders")
    put_many(make_messages(3))

    taken = told("get", "orders", "--limit", 9, "--yes")["messages"]

    assert [one["body"] for one in taken] == ["1", "2", "3"]
    assert not Ready.objects.filter(queue_id=orders.pk).exists()
    assert len(on("BOQ")) == 1


def test_what_takes_away_only_shows_unless_it_is_agreed_to() -> None:
    make_queue("orders")
    put_many(make_messages(2))

    said = run("get", "orders", "--limit", 5)

    assert "--yes to take them" in said.errors
    assert bodies() == [b"1", b"2"]


def test_a_file_is_put_as_it_is(tmp_path: Path) -> None:
    make_queue("orders")
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)))

    run("put", "orders", "--file", file)

    assert bodies() == [bytes(range(256))]
    assert refused("put", "orders", "--file", tmp_path / "none")[0] == 1


def test_queues_are_listed_with_their_depths() -> None:
    make_queue("orders")
    send("orders")

    assert "orders" in run("queues")
    assert told("queues")["queues"] == [
        {
            "name": "orders",
            "address": "orders",
            "paused": False,
            "paused_until": None,
            "stopped": False,
            "takes_dead_letters": False,
            "ready": 1,
            "in_flight": 0,
            "delayed": 0,
        }
    ]


def test_exit_codes_say_what_came_of_it() -> None:
    make_queue("orders")
    make_user("vera", granted=("inquire",))

    assert refused("get", "orders")[0] == 3
    assert refused("browse", "orders")[0] == 3
    assert refused("find", "-f", "queue:orders")[0] == 3
    assert refused("put", "nowhere", "x")[0] == 1
    assert refused("put", "orders", "x", "--user", "vera")[0] == 1
    assert refused("queues", "--user", "nobody")[0] == 1
    assert refused("browse", "nowhere")[0] == 1
    assert refused("browse", "orders", "--place", "there")[0] == 2
    assert refused("put", "orders", "x", "--priority", "10")[0] == 2
    assert refused("purge", "orders")[0] == 2
    assert refused("find", "-f", "state:nowhere")[0] == 1
    assert refused("find", "--after", "x")[0] == 1
    assert refused("message", "show", 7) == (1, "There is no message 7.")
    assert refused("message", "explain", 7)[0] == 1


def test_messages_are_found_and_counted_in_pages() -> None:
    make_queue("orders")
    put_many(make_messages(3))
    chosen = ("--filter", "queue:orders", "-f", "-body:2")

    page = told("find", *chosen, "--limit", 1)
    rest = told("find", *chosen, "--after", page["next"])

    assert page["filter"] == rest["filter"] == "queue:orders -body:2"
    assert len(page["messages"]) == len(rest["messages"]) == 1
    assert "2 of 3 messages" in run("count", *chosen)
    assert told("count", *chosen)["messages"] == 2
    entries = told("browse", "orders", "--limit", 2)
    assert len(entries["entries"]) == 2
    assert entries["messages"] is None
    (last,) = told("browse", "orders", "--after", entries["next"])["entries"]
    assert last["size_bytes"] == 1


def test_what_strangers_wrote_cannot_move_the_cursor() -> None:
    make_queue("orders")
    send("orders", b"x", subject="\x1b[2J[red]", content_type="text/plain")

    said = run("browse", "orders")

    assert "\x1b" not in said
    assert "[ESC][2J[red]" in said


@pytest.fixture
def olga() -> None:
    make_user("olga", permissions=tuple(roles.OPERATOR))


def test_dead_letters_are_grouped_listed_and_resubmitted(olga: None) -> None:
    make_places(attempts=1)
    for number in (1, 2):
        die(f"no stock for {number}", attempts=1)

    (group,) = told("dead-letter-group", "list", "--queue", "DLQ")["groups"]
    (part,) = group["parts"]
    assert (part["messages"], part["queue"]) == (2, "DLQ")
    fingerprint = group["fingerprint"]
    assert told("dead-letter-group", "show", fingerprint)["parts"] == [part]
    assert refused("dead-letter-group", "list", "--origin-queue", "x")[0] == 3
    letters = told("dead-letter", "list", "--origin-queue", "orders")["letters"]
    assert [one["error"] for one in letters] == ["no stock for 2", "no stock for 1"]

    resubmit = ("resubmit", "-f", "state:dead", "--user", "olga")
    plan = told(*resubmit)
    assert (plan["messages"], plan["operation"], plan["state"]) == (
        2,
        None,
        "not planned",
    )
    assert not Operation.objects.exists()
    assert "--yes does it" in run(*resubmit)
    done = told(*resubmit, "--yes", "--reason", "stock came")
    assert (done["done"], done["state"]) == (2, "done")
    assert Operation.objects.get().created_by.username == "olga"
    orders = Queue.objects.get(name="orders").pk
    assert set(Ready.objects.values_list("queue_id", flat=True)) == {orders}
    assert refused(*resubmit, "--yes")[0] in (1, 3)


def test_messages_are_moved_and_purged(olga: None) -> None:
    make_queue("orders")
    make_queue('l"a\\ter')
    put_many(make_messages(1200))

    move = ("move", 'l"a\\ter', "-f", "queue:orders", "--user", "olga")
    done = told(*move, "--reason", "the other list", "--yes")
    assert (done["done"], done["state"]) == (1200, "done")
    assert done["ways"] == [{"on": "orders", "to": 'l"a\\ter', "messages": 1200}]
    purge = ("purge", 'l"a\\ter', "--user", "olga")
    assert told(*purge)["messages"] == 1200
    assert Ready.objects.count() == 1200
    code, why = refused(*purge, "--yes")
    assert (code, why.partition(".")[0]) == (1, "This operation needs a reason")
    assert not Operation.objects.filter(kind="remove").exists()
    assert told(*purge, "--yes", "--reason", "spoilt")["done"] == 1200
    assert not Ready.objects.exists()


def test_who_may_not_operate_is_told_so() -> None:
    make_queue("orders")
    send("orders")
    make_user("vera", permissions=("broker.view_queue",))

    code, why = refused("purge", "orders", "--user", "vera", "--yes")

    assert code == 1
    assert "broker.resubmit_message" in why
    assert Ready.objects.exists()


def test_settings_go_out_and_come_back(tmp_path: Path) -> None:
    make_setting("#", max_delivery_attempts=3)
    file = tmp_path / "settings.json"
    file.write_text(run("settings", "export"))
    AddressSetting.objects.update(max_delivery_attempts=5)

    change = told("settings", "import", file)
    assert change["applied"] is False
    assert change["changes"][0]["differences"] == [
        {"field": "max_delivery_attempts", "before": 5, "after": 3}
    ]
    assert AddressSetting.objects.get().max_delivery_attempts == 5
    assert "Done." in run("settings", "import", file, "--yes")
    assert AddressSetting.objects.get().max_delivery_attempts == 3
    assert refused("settings", "import", file)[0] == 3
    file.write_text("{")
    assert refused("settings", "import", file)[0] == 1
    assert refused("settings", "export", "--format", "toml")[0] == 2


def test_who_acted_is_in_the_audit(olga: None, tmp_path: Path) -> None:
    make_queue("orders")
    send("orders")
    file = tmp_path / "settings.json"
    make_setting("#", max_delivery_attempts=3)
    file.write_text(run("settings", "export"))
    AddressSetting.objects.all().delete()

    run("purge", "orders", "--user", "olga", "--reason", "a test", "--yes")
    run("settings", "import", file, "--yes")

    records = AuditRecord.objects.exclude(act=Act.CREATE_ACCOUNT).order_by("pk")
    assert [(one.act, one.actor_kind) for one in records] == [
        (Act.PLAN, "user"),
        (Act.START, "user"),
        (Act.CREATE, "system"),
    ]
    assert {one.actor for one in records[:2]} == {"olga"}
    assert records[1].reason == "a test"


def test_what_takes_a_second_person_stays_planned(olga: None) -> None:
    make_queue("orders", approval_above=1)
    put_many(make_messages(2))

    code, why = refused("purge", "orders", "--user", "olga", "--yes", "--reason", "x")

    assert code == 1
    assert "second person" in why
    assert Operation.objects.get().state == Operation.State.PLANNED
    assert bodies() == [b"1", b"2"]
    assert [one.act for one in deeds()] == [Act.PLAN]
    assert AuditRecord.objects.get(outcome="refused").act == Act.START


@pytest.mark.thorough
def test_without_a_database_it_says_to_try_again_and_exits_so(
    unused_tcp_port: int,
) -> None:
    """In a process of its own: the exit code and no traceback are what is promised."""
    nowhere = f"postgresql://nobody@127.0.0.1:{unused_tcp_port}/none"
    ran = subprocess.run(
        [sys.executable, "manage.py", "backout", "queues"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": nowhere},
        capture_output=True,
        text=True,
    )

    assert (ran.returncode, ran.stdout) == (75, "")
    assert "The database does not answer, or its disk is full. Try again" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_full_disk_is_told_as_well() -> None:
    make_queue("orders")
    message = "could not extend file: No space left on device"
    with connection.execute_wrapper(lambda *_: full_disk(message)):
        code, sentence = refused("queues")

    assert code == 75
    assert message not in sentence


def full_disk(message: str) -> None:
    raise OperationalError(message)
