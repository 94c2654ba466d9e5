"""Messages that belong together: by their ids, and by units of work."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from broker.monitoring.related import Relation, related_to
from broker.queueing.mentions import jms_id
from broker.queueing.put import NewMessage, put, put_many
from broker.security.authorities import EVERYTHING, GrantedAuthorities
from broker.transactions.scope import unit_of_work
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.django_db
ANSWER, REQUEST, SAME = Relation.ANSWER, Relation.REQUEST, Relation.CORRELATION


@pytest.fixture(autouse=True)
def _queues() -> None:
    make_queue("orders")
    make_queue("answers")


def sent(address: str = "orders", **fields: Any) -> int:
    return put(address, **fields).message_id


def related(message_id: int) -> dict[int, Relation]:
    found = related_to(message_id, EVERYTHING)
    assert found.hidden == 0
    return {one.number: one.relation for one in found.messages}


def test_a_request_and_its_answers_lead_to_each_other() -> None:
    request = sent(message_id="ID:a", correlation_id="C")
    answer = sent("answers", correlation_id="ID:a")
    beside = sent(correlation_id="C")
    sent(message_id="ID:b", correlation_id="D")

    assert related(request) == {answer: ANSWER, beside: SAME}
    assert related(answer) == {request: REQUEST}
    assert related(beside) == {request: SAME}


def test_the_id_that_the_broker_made_serves_as_well() -> None:
    request = sent()
    answer = sent("answers", correlation_id=jms_id(request))

    assert related(request) == {answer: ANSWER}
    assert related(answer) == {request: REQUEST}


def test_messages_without_ids_are_not_related() -> None:
    put_many([NewMessage("orders", b"", correlation_id="") for _ in range(3)])

    assert related(sent(correlation_id="")) == {}
    assert related(sent(message_id="ID:x", correlation_id="ID:x")) == {}


def test_what_was_put_while_a_message_was_processed_is_its_effect() -> None:
    first, other = sent(), sent()
    with unit_of_work() as work:
        work.get("orders")
        work.send(*make_messages(2, "answers"))
    effects = list(range(other + 1, other + 3))

    assert related(first) == dict.fromkeys(effects, Relation.EFFECT)
    assert related(effects[0]) == {first: Relation.CAUSE}
    assert related(other) == {}


def test_the_effects_of_a_copy_are_those_of_its_message() -> None:
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="dead")
    make_queue("dead")
    first = sent()
    with suppress(ValueError), unit_of_work() as work:
        work.get("orders")
        raise ValueError("bad")
    with unit_of_work() as work:
        (copy,) = work.get("dead")
        work.send(*make_messages(1, "answers"))

    effect = copy.message_id + 1

    assert related(first) == related(copy.message_id) == {effect: Relation.EFFECT}
    assert related(effect) == {first: Relation.CAUSE}


def test_what_may_not_be_seen_is_counted() -> None:
    request = sent(message_id="ID:a")
    sent("answers", correlation_id="ID:a")
    seen = sent(correlation_id="ID:a")
    held = GrantedAuthorities({"inquire": ["orders"]})

    found = related_to(request, held)

    assert [one.number for one in found.messages] == [seen]
    assert found.hidden == 1
