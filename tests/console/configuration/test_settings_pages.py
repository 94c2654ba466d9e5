"""The settings: what is typed is what is kept, and what is hardly meant is said."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db.models import Model
from django.test import Client
from django.utils.html import escape

from broker.admin.authorities import MEANS
from broker.models import (
    Act,
    Address,
    AddressSetting,
    Authority,
    ModelQueue,
    Queue,
    QueueAlias,
    Subscription,
)
from broker.security.authorities import FIELDS
from tests.console.configuration.settings_forms import page, page_of, send
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import make_queue, make_user

ADD = "/admin/broker/addresssetting/add/"


@pytest.mark.spec("MATCH-5")
@pytest.mark.parametrize(
    ("typed", "stored", "shown"),
    [
        ({}, None, "not defined here"),
        ({"dead_letter_address": "DLQ"}, "DLQ", "DLQ"),
        ({"no_dead_letter_address": "on"}, "", "none"),
    ],
)
def test_nothing_and_nowhere_are_told_apart(
    ada: Client, typed: dict[str, str], stored: str | None, shown: str
) -> None:
    send(ada, ADD, match="orders.#", **typed)

    setting = AddressSetting.objects.get()
    change = ada.get(f"/admin/broker/addresssetting/{setting.pk}/change/")
    assert setting.dead_letter_address == stored
    assert shown in ada.get("/admin/broker/addresssetting/").content.decode()
    assert change.context["adminform"].form["no_dead_letter_address"].value() == (
        stored == ""
    )


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (
            {"dead_letter_address": "DLQ", "no_dead_letter_address": "on"},
            "Name an address, or say that there is none.",
        ),
        ({"dead_letter_address": "orders.#"}, "cannot be its own dead letter"),
        ({"match": "a.#.b"}, "# can only be the last word"),
        ({"max_delivery_attempts": -2}, "Give a number from 1, or -1 for no limit."),
        ({"redelivery_delay_multiplier": 0}, "The multiplier must be above 0."),
        ({"redelivery_collision_avoidance_factor": 2}, "must be from 0 to 1."),
        ({"redelivery_delay_ms": -1}, "This cannot be negative. Give 0 for none."),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    ada: Client, typed: dict[str, str], sentence: str
) -> None:
    answer = ada.post(ADD, {"match": "orders.#"} | typed)

    assert sentence in answer.content.decode()
    assert not AddressSetting.objects.exists()


def poison(**fields: Any) -> dict[str, Any]:
    return {"backout_threshold": 3, "backout_queue": "poison"} | fields


ROUND_TRIPS: list[tuple[type[Model], dict[str, Any]]] = [
    (
        Address,
        {"name": "news", "durable_model": "MY.DURABLE", "nondurable_model": "MY.OTHER"},
    ),
    (
        Queue,
        {
            **poison(),
            "name": "orders",
            "routing_type": 0,
            "paused": True,
            "put_inhibited": True,
            "selector": "colour = 'blue' AND weight > 2",
            "harden_backout": True,
            "max_depth": 100,
            "max_message_bytes": 4096,
        },
    ),
    (
        ModelQueue,
        {
            **poison(),
            "name": "MODEL",
            "permanent": True,
            "max_depth": 5,
            "max_message_bytes": 6,
        },
    ),
    (QueueAlias, {"name": "bestellungen", "target": "orders"}),
    (
        AddressSetting,
        {
            "match": "orders.#",
            "poison_policy": "both",
            "max_delivery_attempts": 4,
            "dead_letter_address": "DLQ",
            "redelivery_delay_ms": 5,
            "redelivery_delay_multiplier": 1.5,
            "redelivery_collision_avoidance_factor": 0.5,
            "max_redelivery_delay_ms": 6,
            "expiry_address": "late",
            "discard_retention_s": 0,
            "send_to_dla_on_no_route": True,
            "auto_create_dead_letter_resources": False,
            "dead_letter_queue_prefix": "DEAD.",
            "dead_letter_queue_suffix": ".dead",
            "auto_create_expiry_resources": True,
            "expiry_queue_prefix": "LATE.",
            "expiry_queue_suffix": ".late",
            "auto_delete_queues_delay_ms": 7,
            "no_expiry": False,
            "expiry_delay_ms": -1,
            "min_expiry_delay_ms": 8,
            "max_expiry_delay_ms": 9,
        },
    ),
    (
        Authority,
        {
            "pattern": "orders.*",
            "may_inquire": True,
            "may_browse": True,
            "may_get": True,
            "may_put": True,
            "may_pass_all": True,
            "may_set": True,
        },
    ),
]


@pytest.mark.parametrize(("model", "fields"), ROUND_TRIPS)
def test_what_is_typed_is_kept_shown_and_kept_again(
    ada: Client, model: type[Model], fields: dict[str, Any]
) -> None:
    given = dict(fields)
    if model is Queue:
        given["address"] = make_queue("other", address="orders").address.pk
    if model is Authority:
        given["group"] = Group.objects.get(name="viewer").pk

    send(ada, page(model, "add"), **given)
    row = model._default_manager.latest("pk")
    kept = {name: getattr(row, name) for name in fields}
    send(ada, page_of(row, "change"))
    row.refresh_from_db()

    assert kept == fields
    assert {name: getattr(row, name) for name in fields} == fields
    assert ada.get(f"/admin/broker/{model._meta.model_name}/").status_code == 200
    assert [one.act for one in deeds()] == [Act.CREATE, Act.CHANGE]


def test_a_queue_starts_with_nothing_that_ibm_mq_s_do_not(ada: Client) -> None:
    address = make_queue("other").address

    send(ada, page(Queue, "add"), name="orders", address=address.pk)

    orders = Queue.objects.get(name="orders")
    assert (orders.backout_threshold, orders.backout_queue) == (0, "")
    assert (orders.max_depth, orders.max_message_bytes) == (None, None)
    assert (orders.harden_backout, orders.guarded) == (True, False)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"backout_threshold": 1_000_000_000}, "less than or equal to 999999999"),
        ({"selector": "colour = "}, "The selector is wrong at character"),
        ({"name": "taken"}, "taken is the name of another queue alias already."),
        ({"name": "MODEL"}, "MODEL is the name of another model queue already."),
        ({"name": "other"}, "other is the name of another queue already."),
    ],
)
def test_what_a_queue_cannot_be_is_refused_in_words(
    ada: Client, typed: dict[str, Any], sentence: str
) -> None:
    make_queue("other")
    QueueAlias.objects.create(name="taken", target="other")
    ModelQueue.objects.create(name="MODEL")
    orders = make_queue()

    said = send(ada, page_of(orders, "change"), **typed)

    assert sentence in said
    orders.refresh_from_db()
    assert (orders.name, orders.selector, orders.backout_threshold) == ("orders", "", 0)


@pytest.mark.parametrize(
    ("model", "name", "kind"),
    [
        (QueueAlias, "queue", "queue"),
        (QueueAlias, "MODEL", "model queue"),
        (QueueAlias, "address", "address"),
        (ModelQueue, "queue", "queue"),
        (ModelQueue, "alias", "queue alias"),
        (Address, "alias", "queue alias"),
    ],
)
def test_one_name_means_one_thing(
    ada: Client, model: type[Model], name: str, kind: str
) -> None:
    make_queue("queue", address="address")
    QueueAlias.objects.create(name="alias", target="queue")
    ModelQueue.objects.create(name="MODEL")
    target = {"target": "queue"} if model is QueueAlias else {}

    said = send(ada, page(model, "add"), name=name, **target)

    assert f"{name} is the name of another {kind} already. Choose another name." in said
    assert model._default_manager.filter(name=name).count() == (name == "alias") * (
        model is QueueAlias
    )


def test_a_queue_and_its_address_may_share_a_name(ada: Client) -> None:
    address = Address.objects.create(name="orders")

    send(ada, page(Queue, "add"), name="orders", address=address.pk)
    send(ada, page(Address, "add"), name="bills")
    send(ada, page(Queue, "add"), name="bills", address=address.pk)

    assert Queue.objects.count() == 2


@pytest.mark.parametrize("principals", [(), ("user", "group")])
def test_an_authority_is_of_a_user_or_of_a_group(
    ada: Client, principals: tuple[str, ...]
) -> None:
    ids = {
        "user": make_user("omar").pk,
        "group": Group.objects.get(name="viewer").pk,
    }
    before = Authority.objects.count()
    chosen = {name: ids[name] for name in principals}

    said = send(ada, page(Authority, "add"), pattern="orders", **chosen)

    assert "Choose a user or a group: one of them." in said
    assert "Constraint" not in said
    assert Authority.objects.count() == before


def test_each_authority_says_what_it_allows(ada: Client) -> None:
    html = ada.get(page(Authority, "add")).content.decode()

    for name, field in FIELDS.items():
        help_text = html.partition(f'id="id_{field}_helptext"')[2].partition("</div>")
        assert MEANS[name] in help_text[0]


def test_authorities_are_listed_in_words_and_their_patterns_are_checked(
    ada: Client,
) -> None:
    omar = make_user("omar", granted=("inquire", "passall"), pattern="orders.#")

    said = words(ada.get("/admin/broker/authority/").content.decode())
    wrong = send(ada, page(Authority, "add"), user=omar.pk, pattern="a.#.b")

    assert "orders.# omar - inquire, passall" in said
    assert "# can only be the last word" in wrong


def test_subscriptions_are_looked_at_only(ada: Client) -> None:
    queue = make_queue("managed", address="news")
    subscription = Subscription.objects.create(
        address=queue.address, client_id="till", name="<b>", durable=True, queue=queue
    )

    assert escape("<b>") in ada.get("/admin/broker/subscription/").content.decode()
    assert ada.get(page_of(subscription, "change")).status_code == 200
    assert ada.post(page_of(subscription, "change"), {"name": "x"}).status_code == 403
    assert ada.post(page_of(subscription, "delete")).status_code == 403
    assert ada.get(page(Subscription, "add")).status_code == 403


@pytest.mark.parametrize("role", ["viewer", "operator"])
@pytest.mark.parametrize("model", [Queue, Authority, ModelQueue, QueueAlias])
def test_settings_are_the_administrators(
    sign_in: SignIn, role: str, model: type[Model]
) -> None:
    client = sign_in(role)
    client.get("/")

    assert client.get(page(model, "add")).status_code == 302


def test_the_history_of_a_setting_is_the_audit_s(ada: Client) -> None:
    setting = AddressSetting.objects.create(match="orders.#", max_delivery_attempts=3)
    send(ada, page_of(setting, "change"), match="orders.#", max_delivery_attempts=5)

    answer = ada.get(page_of(setting, "history"))

    assert "/audit/?object=address" in answer.content.decode()
    assert "changed settings" in answer.content.decode()
    assert "orders.#" in answer.content.decode()
    assert "Recent actions" not in ada.get("/admin/").content.decode()
