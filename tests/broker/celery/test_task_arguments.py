"""What tasks of Celery are called with is JSON, as every reader has it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from kombu.exceptions import EncodeError

from broker.errors.tasks import NotJson
from broker.models import DeadLetter, Message, Ready
from tests.broker.celery.conftest import WITHIN_S
from tests.celery_peer import app as peer
from tests.console.until import until

pytestmark = pytest.mark.usefixtures("transactional_db")

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.thorough
def test_what_is_no_json_is_not_put() -> None:
    """Python reads it; no other reader does, PostgreSQL among them."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"args": [1, {"price": [NAN]}]}, "args[1].price[0] is nan"),
        ({"kwargs": {"x": -INFINITE}}, "kwargs.x is -inf"),
        ({"args": [INFINITE, "NaN"]}, "args[0] is inf"),
        ({"args": [NAN], "compression": "gzip"}, "args[0] is nan"),
        ({"link": peer.add.s(NAN)}, "callbacks[0].args[0] is nan"),
    ]
    for how, why in cases:
        before = Message.objects.count()
        with pytest.raises(NotJson, match=re.escape(why)) as refused:
            peer.app.send_task(peer.about.name, queue="kept", **how)
        assert isinstance(refused.value, EncodeError)  # as Celery refuses a set
        assert "The arguments of the task must be JSON: " in str(refused.value)
        assert "Use None or text for a number that is none" in str(refused.value)
        assert Message.objects.count() == before


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", [1, 2])
def test_each_protocol_of_celery_refuses_it(
    protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = {1: peer.app.amqp.as_task_v1, 2: peer.app.amqp.as_task_v2}
    monkeypatch.setattr(type(peer.app.amqp), "create_task_message", of[protocol])
    with pytest.raises(NotJson, match=re.escape("args[0] is nan")):
        peer.about.apply_async([NAN], queue="kept")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "how",
    [
        {"args": ["NaN", "-Infinity", '"NaN', {"Infinity": 1}]},
        {"args": ["NaN"], "compression": "gzip"},
        {"args": [NAN], "serializer": "pickle"},
        {"args": [NAN], "serializer": "yaml"},
    ],
)
def test_a_text_that_says_so_is_put_and_so_is_what_is_no_json(
    how: dict[str, Any],
) -> None:
    result = peer.about.apply_async(queue="kept", **how)

    message = Message.objects.get(correlation_id=result.id)
    assert Ready.objects.filter(id=message.id).exists()
    if how.keys() == {"args"}:
        assert json.loads(bytes(message.body))[0] == how["args"]


@pytest.mark.thorough
def test_what_is_no_task_is_put_as_it_is() -> None:
    """So a worker can send a result over this broker, as over others."""
    with peer.app.connection_for_write() as line:
        queue = line.SimpleQueue("replies")
        queue.put({"task_id": "7", "status": "SUCCESS", "result": NAN})
        queue.close()

    assert b"NaN" in bytes(Message.objects.get(address="replies").body)


def test_a_task_that_hands_it_on_fails_and_is_a_dead_letter() -> None:
    result = (peer.give_nan.s() | peer.about.s()).delay()

    with pytest.raises(Exception, match=re.escape("args[0] is nan")):
        result.parent.get(timeout=WITHIN_S)

    ids = Message.objects.filter(correlation_id=result.parent.id).values("id")
    until(DeadLetter.objects.filter(message_id__in=ids).exists)
    assert not Message.objects.filter(correlation_id=result.id).exists()
