"""The tests of the project of a user: for ``manage.py test``, and for pytest."""

from __future__ import annotations

UNITTEST = '''
import json
from datetime import UTC, datetime, timedelta
from urllib.request import Request, urlopen

from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import LiveServerTestCase, TestCase, TransactionTestCase
from django.utils import timezone

from broker.client import connect, put, unit_of_work
from broker.client.testing import (
    EagerClient, assert_enqueued, assert_no_dead_letters, assert_not_put, assert_put,
    dead_letters, dispatching, eager, put_messages, run_ready,
)
from broker.models import AuditRecord, Queue
from broker.operations import queue_pause
from stock.models import Item
from trade.models import Booking
from trade.queues import declare_queues
from trade.tasks import cancel

User = get_user_model()


def make_customer():
    if User.USERNAME_FIELD == "email":
        return User.objects.create_user("ada@example.org")
    return User.objects.create_user("ada")


def order(customer, article="pears"):
    return {"customer": customer.pk, "article": article}


class Committed:
    """What tests that commit share; each finds an empty broker."""

    def setUp(self):
        assert not Queue.objects.exclude(name__startswith="SYSTEM.").exists()
        assert not put_messages()
        assert not AuditRecord.objects.exists()
        declare_queues()
        self.customer = make_customer()

    def test_one(self):
        put("orders", json.dumps(order(self.customer)).encode())
        run_ready()
        assert Booking.objects.get().article == "pears"
        assert_put("mail")
        put("orders", b"is claimed")
        put("orders", b"is ready")
        with unit_of_work() as work:
            assert len(work.get("orders")) == 1
        queue_pause.pause("orders")

    test_two = test_one


class PlainCommits(Committed, TransactionTestCase):
    pass


class CommitsWithSequences(Committed, TransactionTestCase):
    reset_sequences = True


class CommitsOnBoth(Committed, TransactionTestCase):
    databases = {"default", "warehouse"}

    def setUp(self):
        super().setUp()
        assert not Item.objects.using("warehouse").exists()
        Item.objects.using("warehouse").create(article="pears")


class CommitsOfSome(Committed, TransactionTestCase):
    available_apps = [
        "django.contrib.contenttypes", "django.contrib.auth", "broker", "trade",
        *{User._meta.app_label} - {"auth"},
    ]


class CommitsWithRollback(Committed, TransactionTestCase):
    serialized_rollback = True


class Live(LiveServerTestCase):
    def test_an_order_is_booked_by_a_dispatcher(self):
        declare_queues()
        body = json.dumps(order(make_customer())).encode()
        with dispatching() as running:
            urlopen(Request(f"{self.live_server_url}/order/", body)).read()
            running.wait()
        assert Booking.objects.get().article == "pears"
        assert_no_dead_letters()

    test_again = test_an_order_is_booked_by_a_dispatcher


class Orders(TestCase):
    @classmethod
    def setUpTestData(cls):
        declare_queues()
        cls.customer = make_customer()

    def send(self, article="pears"):
        self.client.post(
            "/order/", order(self.customer, article), content_type="application/json"
        )

    def test_what_was_put_is_seen(self):
        self.send()
        assert_put("orders", json=order(self.customer), count=1)
        assert_not_put("invoices")
        with self.assertRaisesMessage(AssertionError, "orders: {"):
            assert_put("orders", json={"article": "apples"})

    def test_it_is_run_in_this_process_with_what_it_puts(self):
        self.send()
        attempts = run_ready()
        assert [one.error for one in attempts] == [None, None]
        booking = Booking.objects.get()
        assert booking.article == "pears"
        assert abs(booking.booked_at - timezone.now()) < timedelta(minutes=1)
        assert_put("mail", body=b"an invoice")
        assert run_ready() == []

    def test_an_error_is_raised(self):
        self.send("poison")
        with self.assertRaisesMessage(ValueError, "No such article"):
            run_ready()
        assert not Booking.objects.exists()

    def test_it_is_dead_after_its_last_attempt(self):
        self.send("poison")
        assert len(run_ready(raises=False)) == 1
        assert run_ready(raises=False, until=timedelta(seconds=59)) == []
        assert len(run_ready(raises=False, until=timedelta(seconds=61))) == 1
        letter, = dead_letters("orders")
        assert "No such article" in letter.error
        with self.assertRaisesMessage(AssertionError, "No such article"):
            assert_no_dead_letters()

    def test_delivery_is_delayed(self):
        when = datetime.now(UTC) + timedelta(hours=2)
        put("orders", json.dumps(order(self.customer)).encode(), deliver_at=when)
        assert_put("orders", deliver_at=when)
        assert run_ready() == []
        assert run_ready(until=when - timedelta(minutes=1)) == []
        assert len(run_ready("orders", until=when + timedelta(minutes=1))) == 1

    def test_a_block_is_eager(self):
        with eager():
            transaction.on_commit(self.send)
        assert Booking.objects.count() == 1

    def test_callbacks_are_captured(self):
        with self.captureOnCommitCallbacks(execute=True):
            transaction.on_commit(self.send)
        run_ready()
        assert Booking.objects.count() == 1

    def test_a_session_sees_what_was_put(self):
        put("mail", b"hello")
        with connect() as connection, connection.session() as session:
            assert session.consumer("mail").receive(timeout_s=0).body == b"hello"

    def test_a_dispatcher_sees_nothing_of_a_transaction(self):
        with self.assertRaisesMessage(RuntimeError, "Use run_ready"):
            with dispatching():
                pass

    def test_a_task_is_run(self):
        booking = Booking.objects.create(customer=self.customer, article="pears")
        result = cancel.enqueue(booking.pk)
        assert_enqueued(cancel, args=[booking.pk])
        with self.assertRaises(AssertionError):
            assert_enqueued(cancel, args=[booking.pk + 1])
        run_ready()
        assert not Booking.objects.exists()
        result.refresh()
        assert result.return_value == "cancelled"
        assert abs(result.finished_at - datetime.now(UTC)) < timedelta(minutes=1)


class EagerOrders(TestCase):
    client_class = EagerClient

    def test_each_request_is_eager(self):
        declare_queues()
        body = order(make_customer())
        self.client.post("/order/", body, content_type="application/json")
        assert Booking.objects.count() == 1
'''
CONFTEST = """
pytest_plugins = ["broker.client.testing.fixtures"]
"""
PYTEST = """
import json

import pytest

from broker.client import put
from broker.client.testing import run_ready
from broker.models import Queue
from trade.models import Booking
from trade.queues import declare_queues
from trade.tests import make_customer, order


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(2))
def test_it_commits(number):
    assert not Queue.objects.exclude(name__startswith="SYSTEM.").exists()
    declare_queues()
    put("orders", b"stays")


@pytest.mark.django_db(transaction=True, serialized_rollback=True, reset_sequences=True)
def test_it_commits_with_all_options():
    assert not Queue.objects.exclude(name__startswith="SYSTEM.").exists()


def test_the_dispatcher_books(dispatcher):
    declare_queues()
    put("orders", json.dumps(order(make_customer())).encode())
    dispatcher.wait()
    assert Booking.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("no_dead_letters")
def test_it_runs_what_is_ready():
    declare_queues()
    put("orders", json.dumps(order(make_customer())).encode())
    run_ready()
    assert Booking.objects.count() == 1
"""
