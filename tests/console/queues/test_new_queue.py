"""A queue is created with its address by a name alone; errors stand at their field."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Act, Address, AuditRecord, Queue, RoutingType
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db
NEW = "/new-queue/"
DEFAULTS = {"routing_type": "1", "max_depth": "", "backout_threshold": "0"}


def created(client: Client, **said: Any) -> Any:
    return client.post(NEW, DEFAULTS | said)


def test_a_name_is_enough(sign_in: SignIn) -> None:
    answer = created(sign_in("administrator"), name="orders.eu")

    made = Queue.objects.select_related("address").get(name="orders.eu")
    assert answer["Location"] == reverse("console:queue", args=["orders.eu"])
    assert (made.address.name, made.routing_type) == ("orders.eu", RoutingType.ANYCAST)
    acts = AuditRecord.objects.filter(act=Act.CREATE)
    assert {one.object_kind for one in acts} == {"queue", "address"}
    assert {one.actor for one in acts} == {"administrator"}


def test_more_is_kept(sign_in: SignIn) -> None:
    more = {
        "routing_type": "0",
        "max_depth": "10",
        "backout_threshold": "3",
        "backout_queue": "orders.failed",
        "description": "Orders of the shop.",
        "contact": "shop team",
        "runbook": "https://wiki.example.org/orders",
    }

    created(sign_in("administrator"), name="orders", **more)

    made = Queue.objects.get()
    assert {name: str(getattr(made, name)) for name in more} == more


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"name": "orders"}, "name", "This name is taken. Choose another."),
        ({"name": "a\tb"}, "name", "characters that cannot be seen"),
        ({"name": "x", "max_depth": "-1"}, "max_depth", "greater than or equal to 0"),
        ({"name": "x", "runbook": "javascript:x"}, "runbook", "Enter a valid URL."),
    ],
)
def test_an_error_stands_at_its_field_and_nothing_is_created(
    sign_in: SignIn, said: dict[str, str], field: str, why: str
) -> None:
    make_queue("orders")

    answer = created(sign_in("administrator"), **said)

    assert answer.status_code == 422
    assert why in " ".join(answer.context["form"].errors[field])
    assert f'id="id_{field}_error"' in answer.content.decode()
    assert ("<details" in words_of_more(answer)) == (field != "name")
    assert (Queue.objects.count(), Address.objects.count()) == (1, 1)


def words_of_more(answer: Any) -> str:
    """The element More where it is open."""
    html: str = answer.content.decode()
    return "<details" if '<details class="card card-body" open' in html else ""


def test_only_administrators_create_queues(sign_in: SignIn) -> None:
    make_queue("orders")

    omar = sign_in("operator")
    assert created(omar, name="x").status_code == 403
    assert NEW not in omar.get("/queues/").content.decode()
    assert NEW in sign_in("administrator").get("/queues/").content.decode()


def test_both_permissions_are_needed(client: Client) -> None:
    few = ("broker.view_queue", "broker.add_queue")
    client.force_login(make_user("vera", permissions=few))

    assert created(client, name="x").status_code == 403
    assert "An administrator creates them." in words(
        client.get("/queues/").content.decode()
    )
