"""What the blocks of a page take to be there, by page."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import TestCase

from broker.client import consumes, put, testing
from broker.models import LinkState
from broker.security import credentials
from broker.sql import database_now
from broker.transactions.scope import unit_of_work
from console.accounts import roles
from tests.blocks.place import Place
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT
from tests.console.bridging import make_link, stand
from tests.console.letters import die, make_places
from tests.make import make_queue, make_setting, make_user


class CardDeclined(Exception):
    """What a task of the pages raises."""


def bridges(place: Place) -> None:
    (place.folder / "shops.xml").write_text(DOCUMENT)


def shops(place: Place) -> None:
    stand(make_link("orders-out", bridge="shops"), LinkState.STARTED)


def command_line(place: Place) -> None:
    dead_letters(place)
    shops(place)
    make_user("olga", permissions=tuple(roles.OPERATOR))


def dead_letters(place: Place) -> None:
    make_places()
    make_queue("later")
    die("TimeoutError: no such row", properties={"tenant": "t7"})


def old_letters(place: Place) -> None:
    make_queue("orders.eu")
    make_queue("orders.dead")
    make_setting(
        "orders.eu", max_delivery_attempts=1, dead_letter_address="orders.dead"
    )
    at = database_now() - timedelta(hours=3)
    put("orders.eu", properties={"tenant": "t7"}, now=at)
    with unit_of_work(now=at) as work:
        work.get("orders.eu")
        work.back_out("no such row")


def rest(place: Place) -> None:
    dead_letters(place)
    shops(place)
    make_queue("booked")
    _, place.shell["SECRET"] = credentials.create("shop", User.objects.get())


def shop(place: Place) -> None:
    """Models of a reader's application."""
    for name in ("orders", "booked"):
        make_queue(name)
    row = SimpleNamespace(as_json=lambda: b"{}", save=lambda: None, pk=7)
    rows = SimpleNamespace(create=lambda *_, **__: row)
    model = SimpleNamespace(objects=rows)
    place.names.update(
        Order=model,
        Booking=model,
        parse=json.loads,
        order=row,
        transaction=transaction,
        CardDeclined=CardDeclined,
    )


def project(place: Place) -> None:
    shop(place)
    place.names.update(timer=nullcontext)


def tests_of_a_reader(place: Place) -> None:
    """A handler that declines each card, and a page that puts an order."""
    shop(place)
    make_setting(max_delivery_attempts=3, dead_letter_address="DLQ")
    make_queue("DLQ")

    @consumes("orders")
    def charge(*_: object) -> None:
        if not testing.dead_letters("orders"):
            raise CardDeclined("declined")

    for name in testing.__all__:
        place.names[name] = getattr(testing, name)
    test = TestCase()
    test.client = SimpleNamespace(post=lambda *_: put("orders"))  # type: ignore[assignment]
    place.names.update(self=test, TestCase=TestCase)
    put("orders")


MADE: dict[str, Callable[[Place], None]] = {
    "CONTRIBUTING.md": lambda place: place.names.update(pytest=pytest),
    "README.md": shop,
    "docs/bridges.md": bridges,
    "docs/command-line.md": command_line,
    "docs/django-tasks.md": shop,
    "docs/filters.md": old_letters,
    "docs/install.md": project,
    "docs/operations.md": bridges,
    "docs/repair.md": dead_letters,
    "docs/rest.md": rest,
    "docs/rules.md": dead_letters,
    "docs/testing.md": tests_of_a_reader,
}
