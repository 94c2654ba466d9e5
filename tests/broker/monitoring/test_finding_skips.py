"""A search for what few messages have: the messages between two matches are passed."""

from __future__ import annotations

import pytest
from django.db import connection

from broker.formats.filters import parse
from broker.models import Queue
from broker.monitoring import search
from broker.monitoring.search import walking
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.put import put_many
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def numbers_from_1() -> None:
    FLOORS.forget()
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE broker_message_id_seq RESTART")


def every_queue() -> dict[int, str]:
    return dict(Queue.objects.values_list("pk", "name"))


@pytest.mark.parametrize("bytes_", [0, 2**20])
def test_a_search_goes_from_match_to_match(
    monkeypatch: pytest.MonkeyPatch, bytes_: int
) -> None:
    """Messages between two matches are looked at without their entries, as many at once
    as their bodies allow; all are counted."""
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(1000))]
    monkeypatch.setattr(walking, "FIRST_SCAN", 10)
    monkeypatch.setattr(walking, "OF_BODIES", 10)
    monkeypatch.setattr(walking, "STRIDE", 100)
    monkeypatch.setattr(walking, "QUICK_S", 0)
    monkeypatch.setattr(walking, "MOST_BYTES", bytes_)
    seen: list[int] = []
    look = walking.Walk.look

    def counted(self: walking.Walk, limit: int) -> walking.SearchStep:
        step = look(self, limit)
        seen.append(step.seen)
        return step

    monkeypatch.setattr(walking.Walk, "look", counted)
    effort = search.Effort(looks=500)
    page = search.find(parse("body:77"), within=every_queue(), effort=effort)

    expected = [pk for number, pk in enumerate(ids, 1) if "77" in str(number)]
    assert [one.message_id for one in page.rows] == expected[::-1]
    assert (page.looked_at, page.is_limited) == (1000, False)
    assert sum(seen) < 300


def test_what_was_gone_to_in_vain_is_not_gone_to_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Messages that match and are on no queue do not make many small steps."""
    orders, other = make_queue("orders"), make_queue("other")
    put_many(make_messages(300))
    put_many(make_messages(300, "other"))
    put_many(make_messages(300))
    monkeypatch.setattr(walking, "FIRST_SCAN", 10)
    monkeypatch.setattr(walking, "DENSE", 0)
    walk = walking.Walk(parse("size:>0 -size:0 body:1"), {}, walking.ONLY_KEYS)
    assert walk.may_skip
    walk = walking.Walk(parse("-body:1"), every_queue(), walking.ONLY_KEYS)
    assert not walk.may_skip, "a message that is not there has no body"

    names = {orders.pk: "orders", other.pk: "other"}
    walk = walking.Walk(parse("tries:7 size:>0"), names, walking.ONLY_KEYS)
    while not walk.at_end:
        assert walk.on(50) == []
    assert not walk.may_skip
