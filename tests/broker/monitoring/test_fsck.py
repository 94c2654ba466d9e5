"""The check that nothing is lost: green in health, and red for each kind of damage."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from broker.models import Claim, Event, Kind, Queue
from broker.monitoring import fsck
from broker.queueing.put import put, put_many
from broker.settlement import discards, expiry
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, plan, start
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.monitoring.damages import DAMAGES
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

HEALTHY = "Every message is in one place or has one end."


@pytest.fixture
def broker_in_use(db: None) -> Queue:
    return use_the_broker()


@pytest.fixture
def broker_in_real_use(transactional_db: None) -> Queue:
    """The command reads in a snapshot of its own, so it must not be in a test's."""
    return use_the_broker()


def use_the_broker() -> Queue:
    """One message or more in each place and at each end. Returns the queue."""
    orders = make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    put_many(make_messages(3), now=NOON)
    put("orders", deliver_at=NOON + minutes(60), now=NOON)
    put("orders", priority=0, expires_at=NOON + minutes(1), now=NOON)
    for minute in range(3):  # two backouts and, resubmitted, a third
        back_out()
        if minute == 1:
            start(plan())
    one, other = UnitOfWork(now=NOON), UnitOfWork(now=NOON)
    one.get("orders")
    one.commit()
    other.get("orders")
    expiry.expire(limit=10, now=NOON + minutes(2))
    fill_the_bin()
    return orders


def fill_the_bin() -> None:
    """Two messages are discarded, and one of them is restored."""
    lossy = make_queue("lossy")
    make_setting("lossy", max_delivery_attempts=1)
    (first, _) = put_many(make_messages(2, "lossy"), now=NOON)
    back_out("lossy", limit=2)
    discards.restore(first.message_id, lossy.pk, now=NOON)


def test_health_is_green(broker_in_use: Queue) -> None:
    assert fsck.violations() == []

    sums = fsck.sums()

    assert sums == fsck.Sums(
        put=9,  # seven, a dead letter and its resubmitted copy
        accepted=1,
        backed_out=2,
        dead_lettered=1,
        resubmitted=1,
        expired=1,
        discarded=2,
        moved=0,
        removed=0,
        taken_back=0,
        restored=1,
        reinstated=0,
        present=4,
    )
    assert sums.balance == 0


@pytest.mark.parametrize(
    ("damage", "rules"),
    [(damage, rules) for _, damage, rules in DAMAGES],
    ids=[name for name, _, _ in DAMAGES],
)
def test_each_damage_breaks_its_rule(
    broker_in_use: Queue, damage: str, rules: set[str]
) -> None:
    do_harm(damage)
    assert {found.rule for found in fsck.violations()} == rules


@pytest.mark.parametrize(
    "what",
    [name for name, _, rules in DAMAGES if rules & {"no-orphans", "well-formed"}],
)
def test_a_damage_is_called_by_what_it_is(broker_in_use: Queue, what: str) -> None:
    do_harm(next(damage for name, damage, _ in DAMAGES if name == what))

    found = [
        v.sentence for v in fsck.violations() if v.rule in {"no-orphans", "well-formed"}
    ]

    assert found
    assert all(one.startswith(f"There is {what}: ") for one in found)


def test_an_end_that_was_journalled_as_something_else_is_out_of_balance(
    broker_in_use: Queue,
) -> None:
    do_harm("UPDATE broker_event SET kind = 5 WHERE kind = 3")

    assert fsck.violations() == []
    assert fsck.sums().balance == 1


def test_two_who_settle_parts_of_one_unit_of_work_leave_it_in_health(
    elsewhere: Elsewhere,
) -> None:
    """The second waits for the first, and must not bring back what that accepted."""
    orders = make_queue("orders")
    put_many(make_messages(3))
    work = UnitOfWork()
    first, second, third = work.get("orders", 3)
    elsewhere.begin()
    elsewhere(work.accept, first)
    other = Background(lambda: work.accept(second))
    until(somebody_waits)
    elsewhere.commit()
    other.join()

    assert fsck.violations() == []

    claim = Claim.objects.get()
    assert (claim.queue_id, claim.ids) == (orders.pk, [third.message_id])


def test_the_first_violations_of_a_rule_stand_for_all(broker_in_use: Queue) -> None:
    put_many(make_messages(100), now=NOON)

    do_harm("DELETE FROM broker_ready")

    places = [one for one in fsck.violations() if one.rule == "one-place"]
    assert len(places) == fsck.SHOWN


def test_what_the_journal_has_forgotten_is_no_damage(broker_in_use: Queue) -> None:
    """Days of the journal are dropped once the tally has them."""
    do_harm(
        "INSERT INTO broker_tally SELECT queue_id, kind, coalesce(came_from, 0),"
        " coalesce(went_to, 0), sum(n) FROM broker_event GROUP BY 1, 2, 3, 4"
    )
    do_harm("UPDATE broker_watermark SET xid = pg_current_xact_id()::text::bigint + 1")
    last_ended = Event.objects.filter(kind=Kind.RESUBMIT).get()

    do_harm("DELETE FROM broker_event WHERE seq <= %s", last_ended.seq)

    assert fsck.violations() == []
    assert fsck.sums().balance == 0


def test_the_command_says_that_all_is_well(broker_in_real_use: Queue) -> None:
    said = check()

    assert HEALTHY in said
    assert "dead lettered             1" in said


def test_the_command_s_exit_code_is_how_many_rules_are_broken(
    broker_in_real_use: Queue,
) -> None:
    do_harm("DELETE FROM broker_ready")
    out = io.StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("broker_fsck", stdout=out)

    assert ended.value.code == 2
    assert "one-place: Message " in out.getvalue()
    assert "depths-are-exact: Queue " in out.getvalue()
    assert HEALTHY not in out.getvalue()


def test_sums_that_do_not_balance_count_as_a_broken_rule(
    broker_in_real_use: Queue,
) -> None:
    do_harm("UPDATE broker_event SET kind = 5 WHERE kind = 3")
    out = io.StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("broker_fsck", stdout=out)

    assert ended.value.code == 1
    assert "The sums differ by 1." in out.getvalue()


def test_the_command_speaks_json(broker_in_real_use: Queue) -> None:
    healthy = json.loads(check("--json"))
    assert healthy["violations"] == []
    assert healthy["sums"]["put"] == 9
    assert healthy["sums"]["balance"] == 0

    do_harm("DELETE FROM broker_delayed")
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("broker_fsck", "--json", stdout=out)

    rules = {one["rule"] for one in json.loads(out.getvalue())["violations"]}
    assert rules == {"one-place", "depths-are-exact"}


def check(*options: str) -> str:
    out = io.StringIO()
    call_command("broker_fsck", *options, stdout=out)
    return out.getvalue()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])


def do_harm(damage: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(damage, parameters)
        assert cursor.rowcount > 0, "it did no harm"
