"""The demonstration's clients: what they put and decide, and what they log in with."""

from __future__ import annotations

import asyncio
import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from broker.amqp.protocol import sections
from broker.amqp.protocol.performatives import Accepted, Modified, Rejected
from broker.models import (
    AddressSetting,
    ClientConnection,
    Credential,
    DeadLetter,
    Message,
    Queue,
)
from broker.security import authorities, credentials
from console.demo import logins, shop
from console.layout.listeners import Door
from console.management.commands.demo_clients import Traffic
from tests.amqp.listening import HOST, Listening, listener


def decided(number: int, tries: int = 0) -> Any:
    """What the warehouse says of an order that it gets after so many tries."""
    cut = sections.split(shop.payload(number))
    header = sections.encode_header(durable=True, delivery_count=tries)
    return shop.decision(header + cut.properties + cut.body)


def test_most_orders_are_accepted_and_some_are_not() -> None:
    said = Counter(type(decided(number)) for number in range(100))
    assert said == {Accepted: 85, Rejected: 5, Modified: 10}


def test_what_is_not_in_stock_comes_again_and_is_there_then_or_never() -> None:
    some, many = shop.order(5), shop.order(17)
    assert [type(decided(some["order"], tries)) for tries in (0, 1)] == [
        *(Modified, Accepted),
    ]
    assert {type(decided(many["order"], tries)) for tries in range(9)} == {Modified}
    assert decided(5).message_annotations == {"x-opt-waits-for": some["article"]}


def test_an_order_says_what_it_is() -> None:
    cut = sections.split(shop.payload(15))
    properties = sections.properties_of(cut.properties)
    assert cut.header is not None
    assert (cut.header.durable, cut.header.priority) == (True, 6)
    assert (properties.message_id, properties.subject) == ("order-15", "order")
    assert sections.map_of(cut.application_properties) == {
        "region": "eu",
        "express": True,
    }
    assert json.loads(sections.body_of(cut.body).data or b"") == shop.order(15)


@pytest.mark.django_db
def test_logins_last_and_may_no_more_than_they_need(
    settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path

    first, second = logins.logins(), logins.logins()

    assert first == second
    assert stat.S_IMODE(logins.file().stat().st_mode) == 0o600
    seller = credentials.verify(first["demo-shop"].name, first["demo-shop"].secret)
    assert seller is not None
    assert (seller.may_put, seller.may_get, seller.may_browse) == (True, False, False)
    user = User.objects.get()
    assert not user.has_usable_password()
    held = authorities.held_by(user)
    assert held.on("put", shop.ORDERS)
    assert not held.on("put", "intake")


@pytest.mark.django_db
@pytest.mark.parametrize("loss", ["the file", "the credential"])
def test_a_login_that_is_lost_is_made_again(
    settings: Settings, tmp_path: Path, loss: str
) -> None:
    settings.VAR_DIR = tmp_path
    logins.logins()
    if loss == "the file":
        logins.file().unlink()
    else:
        for one in Credential.objects.all():
            credentials.revoke(one, None)

    again = logins.logins()

    assert {one.name for one in again.values()} == {"demo-shop-2", "demo-warehouse-2"}
    assert all(credentials.verify(one.name, one.secret) for one in again.values())
    assert User.objects.count() == 1


def traffic(here: Listening, rate: float, count: int) -> Traffic:
    """What the command does, at another door."""
    said: list[str] = []
    door = Door(HOST, here.port, is_encrypted=False)
    made = Traffic(door, logins.logins(), said.append)
    asyncio.run(made.run(rate, count))
    assert said == []
    return made


@pytest.mark.usefixtures("transactional_db")
def test_orders_go_through_the_listener_and_end_as_the_warehouse_says(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path
    shop.make_places()
    AddressSetting.objects.update(redelivery_delay_ms=0)
    monkeypatch.setattr(shop, "WORK_S", 0.01)  # seconds of a person's patience

    with listener() as here:
        made = traffic(here, rate=200, count=80)

    assert made.said["put"] >= 60
    assert made.said["accepted"] > made.said["modified"] > made.said["rejected"] > 0
    orders = Message.objects.filter(address=shop.ORDERS)
    assert orders.filter(properties__region="eu").exists()
    letters = DeadLetter.objects.values_list("error", flat=True)
    assert any("There is no article" in error for error in letters)
    assert Queue.objects.filter(name=shop.ORDERS).exists()
    assert not ClientConnection.objects.exists()
