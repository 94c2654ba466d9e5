"""The thread that settles the tasks of a worker, and what it is given."""

from __future__ import annotations

from typing import Any

import pytest

from broker.client.celery_transport.messages import json_of, received
from broker.client.celery_transport.settling import NOT_STORED, Settler
from broker.models import Claim, Ready
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.settlement.outcomes import Accept, Reject
from broker.transactions.prefetch import Prefetched
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_an_outcome_that_cannot_be_stored_holds_back_no_other() -> None:
    """The thread would end, and the worker wait for ever."""
    queue = make_queue("orders")
    put_many(make_messages(3))
    settler = Settler()
    one, odd, other = Prefetched(queue).get(3)
    no_text: Any = 7

    settler.add(one, Accept())
    settler.add(odd, Reject(no_text))
    settler.add(other, Accept())
    settler.run_soon(lambda: 1 / 0)

    assert settler.flush()
    assert not Claim.objects.exists()
    left = Ready.objects.get()
    assert (left.id, left.backout_count) == (odd.message_id, 1)
    last = journal.lifeline(odd.message_id)[-1]
    assert last.detail["error"] == NOT_STORED.error
    if settler.thread is not None:
        settler.thread.join()


@pytest.mark.parametrize("odd", ["{", "7", "[]", 7, '{"headers": 7}', None])
def test_a_message_of_a_stranger_is_one_of_no_task(odd: Any) -> None:
    """Its worker rejects it; an error here would end the worker."""
    queue = make_queue("orders")
    put("orders", properties={"kombu": odd, "task": "peer.add"})
    (delivery,) = Prefetched(queue).get(1)
    message = received(
        delivery, channel=None, consumer_tag="", tag="1", zero_first=False
    )
    assert message.headers == {"task": "peer.add"}
    assert json_of(odd).get("headers", {}) == {}
