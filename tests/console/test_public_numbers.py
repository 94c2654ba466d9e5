"""A message has one number through all its lives: dead letter, resubmit, repair."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from broker import operations
from broker.models import Queue
from broker.monitoring import dead_letters
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.make import NOON, make_user, plan_resubmit


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places(attempts=3, delay_ms=4000)


def test_one_message_has_one_number_in_all_its_lives(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die(attempts=3)
    order = plan_resubmit(make_user(), "one", message_id=letter.message_id)
    operations.start(order.pk)
    for number in range(3):
        attempt("ValueError: no", now=NOON + timedelta(hours=number + 1))
    (again,) = dead_letters.letters(ALL)
    first, copy = letter.origin_id, order.items.get().copy_id
    assert len({first, letter.message_id, copy, again.message_id}) == 4
    client = sign_in("operator")

    for one in (first, letter.message_id, copy, again.message_id):
        address = reverse("console:message", args=[one])
        assert f"<h1>Message {first}</h1>" in client.get(address).content.decode()
        found = client.get(reverse("console:go"), {"q": str(one)})
        assert f'href="{address}?newest"' in found.content.decode()
        there = client.get(address, {"newest": ""}, follow=True)
        assert there.context["story"].message_id == again.message_id
    group = reverse("console:dead_letter_group", args=[again.fingerprint])
    on_its_queue = reverse("console:queue", args=["DLQ"])
    for address in (group, on_its_queue):
        assert f">{first}</a></th>" in client.get(address).content.decode()
