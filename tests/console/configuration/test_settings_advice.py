"""Settings that are hardly meant are saved and warned about; loss is refused."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.models import Address, Queue, QueueAlias
from broker.queueing.put import put
from tests.console.configuration.settings_forms import page_of, warnings
from tests.console.letters import attempt
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_setting


@pytest.fixture
def _dead_letter_queue(db: None) -> None:
    make_queue("SYSTEM.DEAD.LETTER.QUEUE")


@pytest.mark.spec("POISON-10")
@pytest.mark.usefixtures("_dead_letter_queue")
def test_a_threshold_without_a_backout_queue_is_saved_and_warned_about(
    ada: Client,
) -> None:
    orders = make_queue()
    change = page_of(orders, "change")

    (said,) = warnings(ada, change, backout_threshold=3)
    (again,) = warnings(ada, change)

    orders.refresh_from_db()
    assert orders.backout_threshold == 3
    assert said == again
    assert said.startswith("orders has a backout threshold of 3 and no backout queue")
    make_queue("poison")
    assert warnings(ada, change, backout_queue="poison") == []


@pytest.mark.thorough
@pytest.mark.spec("UNIFY-3")
@pytest.mark.usefixtures("_dead_letter_queue")
def test_a_policy_under_which_a_threshold_is_never_reached_is_warned_about(
    ada: Client,
) -> None:
    make_queue("poison")
    make_queue(backout_threshold=3, backout_queue="poison")
    setting = make_setting("#", max_delivery_attempts=3, dead_letter_address="poison")
    change = page_of(setting, "change")

    assert warnings(ada, change, poison_policy="ibm") == []
    (said,) = warnings(ada, change, poison_policy="both")

    assert said.startswith(
        "orders has the poison policy “both” and a backout threshold"
    )
    assert warnings(ada, change, max_delivery_attempts=4) == []


@pytest.mark.usefixtures("_dead_letter_queue")
def test_what_a_change_does_to_other_queues_is_said(ada: Client) -> None:
    make_queue(backout_threshold=3, backout_queue="poison")
    alias = QueueAlias.objects.create(name="poison", target="bad")
    bad = make_queue("bad")
    for number in range(6):
        make_queue(f"q{number}", backout_threshold=3, backout_queue="spare")
    spare = make_queue("spare")
    url = page_of(spare, "delete")

    gone = ada.post(url, {"post": "yes"}, follow=True).context["messages"]
    renamed = warnings(ada, page_of(alias, "change"), name="poison2")

    said = [str(one) for one in gone if one.level_tag == "warning"]
    assert len(said) == 6
    assert said[0].startswith("The backout queue of q0, spare, does not exist")
    assert said[-1] == "And 1 more like these."
    assert [one[:42] for one in renamed] == [
        "The backout queue of orders, poison, does "
    ]
    assert Queue.objects.filter(pk=bad.pk).exists()


@pytest.mark.spec("ASF-12")
def test_the_dead_letter_queue_s_page_says_what_it_lacks(ada: Client) -> None:
    make_queue()
    dead = make_queue("SYSTEM.DEAD.LETTER.QUEUE")

    (said,) = warnings(ada, page_of(dead, "change"), max_message_bytes=1000)

    assert said.startswith("The dead letter queue SYSTEM.DEAD.LETTER.QUEUE takes 1,000")


@pytest.mark.parametrize("place", ["ready", "delayed", "claimed"])
def test_a_queue_that_holds_messages_is_not_deleted(ada: Client, place: str) -> None:
    orders, empty = make_queue(), make_queue("empty")
    put("orders")
    put("empty")
    attempt(queue="empty")
    if place == "delayed":
        make_setting(redelivery_delay_ms=5000)
        attempt("ValueError: row 7 is bad")
    url = page_of(orders, "delete")
    chosen = {
        "action": "delete_selected",
        "_selected_action": [orders.pk, empty.pk],
        "post": "yes",
    }

    said = words(ada.get(url).content.decode())
    ada.post(url, {"post": "yes"})
    ada.post("/admin/broker/queue/", chosen)

    assert "orders holds 1 message. Let its consumers take them, or move or" in said
    assert Queue.objects.count() == 2
    ada.post(page_of(empty, "delete"), {"post": "yes"})
    assert list(Queue.objects.values_list("name", flat=True)) == ["orders"]


def test_no_way_deletes_a_queue_unasked(ada: Client) -> None:
    """The discard bin is told of before, and an address goes last."""
    orders = make_queue()
    make_setting(max_delivery_attempts=1)
    put("orders")
    attempt("no")  # without a dead letter address it is discarded
    url = page_of(orders, "delete")

    said = words(ada.get(url).content.decode())
    assert "1 discarded message of orders: the discard bin can restore it" in said
    ada.post(page_of(orders.address, "delete"), {"post": "yes"})
    ada.post(url)  # without the confirmation
    assert Queue.objects.exists()

    ada.post(url, {"post": "yes"})
    assert not Queue.objects.exists()
    ada.post(page_of(orders.address, "delete"), {"post": "yes"})
    assert not Address.objects.exists()
