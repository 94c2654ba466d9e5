"""A flush: what is gone, what is there again, and who may empty the audit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.color import no_style
from django.core.management.sql import sql_flush
from django.db import connection, transaction
from django_celery_beat.models import PeriodicTask

from broker.management import first_rows
from broker.models import (
    AlertRule,
    AuditRecord,
    DeadLetter,
    Delayed,
    Event,
    Message,
    ModelQueue,
    Queue,
    Ready,
    Watermark,
)
from broker.queueing import processes
from broker.queueing.put import put
from broker.security.audit import chain
from broker.transactions.scope import UnitOfWork
from tests.broker.auditing import guard, last, note
from tests.broker.dying import back_out
from tests.make import NOON, make_queue, make_setting

pytestmark = pytest.mark.django_db

SYSTEM = {"SYSTEM.DURABLE.MODEL.QUEUE", "SYSTEM.NDURABLE.MODEL.QUEUE"}


def settle_constraints() -> None:
    """A table with pending events cannot be emptied in the same transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def flush(**options: Any) -> None:
    settle_constraints()
    call_command("flush", interactive=False, verbosity=0, **options)


def by_the_printed_statements() -> None:
    """As somebody does who gives the output of ``sqlflush`` to psql."""
    settle_constraints()
    printed = StringIO()
    call_command("sqlflush", stdout=printed)
    with connection.cursor() as cursor:
        cursor.execute(printed.getvalue().replace("BEGIN;", "").replace("COMMIT;", ""))


@pytest.mark.parametrize(
    "empty",
    [flush, lambda: flush(inhibit_post_migrate=True), by_the_printed_statements],
    ids=["flush", "inhibited", "sqlflush"],
)
def test_a_flush_leaves_neither_messages_nor_their_traces(
    empty: Callable[[], None],
) -> None:
    make_queue("orders")
    make_queue("DLQ")
    make_setting("orders", dead_letter_address="DLQ", max_delivery_attempts=1)
    put("orders", b"dies")
    back_out("orders")
    put("orders", b"later", deliver_at=NOON + timedelta(days=9999))
    put("orders", b"claimed")
    UnitOfWork().get("orders")
    put("orders", b"waits")

    empty()

    assert not Queue.objects.exclude(name__startswith="SYSTEM.").exists()
    for model in (Message, Ready, Delayed, DeadLetter, Event):
        assert not model._default_manager.exists(), model
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM broker_claim, broker_unit_of_work")
        assert cursor.fetchone() == (0,)


def test_what_migrations_make_is_there_again_and_it_goes_on() -> None:
    processes.current()  # before the flush locks the tables
    if not AlertRule.objects.exists():  # a test that commits took them
        first_rows.fill(connection)
    names = {
        model: set(model._default_manager.values_list("name", flat=True))
        for model in (AlertRule, Group, ModelQueue, PeriodicTask)
    }
    assert names[ModelQueue] == SYSTEM
    assert {"reports-late", "queue-too-deep"} <= names[AlertRule]

    flush()

    for model, before in names.items():
        found = model._default_manager.values_list("name", flat=True)
        assert set(found) == before, model
    assert Watermark.objects.filter(reader="tally").exists()
    make_queue("orders")
    put("orders", b"after")
    assert [one.body for one in UnitOfWork().get("orders")] == [b"after"]


def test_a_flush_that_is_rolled_back_restarts_no_ids() -> None:
    before = make_queue("orders")
    with transaction.atomic():
        flush()
        transaction.set_rollback(True)
    assert make_queue("invoices").pk > before.pk


def test_in_an_installation_a_flush_leaves_the_audit_and_is_recorded() -> None:
    guard()
    note(reason="the bank is down")

    flush()

    settle_constraints()
    assert AuditRecord.objects.filter(reason="the bank is down").exists()
    assert (last().actor_kind, last().act) == ("system", "database.flush")
    assert str(last()).endswith(f"emptied the database {last().object_name}")
    note(reason="it goes on")
    settle_constraints()
    _, fault = chain.verify()
    assert fault is None


def test_a_flush_of_a_database_of_tests_empties_the_audit() -> None:
    note(reason="the bank is down")
    flush()
    assert not AuditRecord.objects.exists()


def test_only_a_database_that_tests_made_is_without_the_guard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard()
    monkeypatch.setitem(connection.settings_dict, "NAME", "shop")
    first_rows.complete("default")
    assert first_rows.holds(connection, first_rows.IS_GUARDED)

    monkeypatch.undo()
    first_rows.complete("default")
    assert not first_rows.holds(connection, first_rows.IS_GUARDED)


def test_no_statement_of_a_flush_names_what_the_broker_empties_itself() -> None:
    statements = " ".join(sql_flush(no_style(), connection))
    assert "broker_queue" in statements
    assert "broker_audit" not in statements.replace("broker_auditcheck", "")
    assert "broker_message" not in statements
