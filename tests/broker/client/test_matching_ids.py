"""Gets of messages with given ids, by IBM MQ's match options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.client.mqget import Match, OpenQueue, get_message
from broker.errors.mq_codes import GetOptions
from broker.formats.mq.descriptor import made_id
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue

pytestmark = pytest.mark.django_db

G = GetOptions


@pytest.fixture(autouse=True)
def opened() -> Iterator[OpenQueue]:
    make_queue("orders")
    with OpenQueue("orders", now=NOON) as queue:
        yield queue


def ids_of(number: int) -> dict[str, str]:
    return {"msg_id": f"{number:048x}", "correl_id": f"{number + 1:048x}"}


def octets(number: int) -> bytes:
    return number.to_bytes(24, "big")


@pytest.mark.parametrize(
    ("match", "bodies"),
    [
        (Match(msg_id=octets(2)), [b"2"]),
        (Match(correl_id=octets(4)), [b"3"]),
        (Match(msg_id=octets(2), correl_id=octets(4)), []),
        (Match(group_id=b"g".ljust(24, b"\0")), [b"1", b"3"]),
        (Match(msg_id=bytes(24), group_id=octets(9)), []),
        (Match(msg_id=bytes(24)), [b"1", b"2", b"3"]),
    ],
)
@pytest.mark.parametrize("options", [G.NONE, G.SYNCPOINT, G.BROWSE_NEXT])
def test_a_get_may_ask_for_ids(
    opened: OpenQueue, options: GetOptions, match: Match, bodies: list[bytes]
) -> None:
    for number in (1, 2, 3):
        group = None if number == 2 else "g"
        body = str(number).encode()
        put("orders", body, descriptor=ids_of(number), group_id=group, now=NOON)
    work = UnitOfWork(now=NOON) if options == G.SYNCPOINT else None
    got = []
    while one := get_message(opened, options, match=match, work=work):
        got.append(one.body)
    assert got == bodies


def test_a_made_id_and_an_id_of_jms_are_found(opened: OpenQueue) -> None:
    put("orders", b"other", now=NOON)
    receipt = put("orders", b"made", now=NOON)
    put("orders", b"given", message_id=f"ID:{7:048x}", now=NOON)
    made = Match(msg_id=made_id(receipt.message_id, "BACKOUT"))
    for match, body in ((made, b"made"), (Match(msg_id=octets(7)), b"given")):
        found = get_message(opened, match=match)
        assert found is not None
        assert found.body == body
        assert get_message(opened, match=match) is None


def test_the_first_message_with_the_id_is_got_by_priority(opened: OpenQueue) -> None:
    for priority in (1, 9):
        body, ids = str(priority).encode(), ids_of(1)
        put("orders", body, descriptor=ids, priority=priority, now=NOON)
    found = get_message(opened, match=Match(msg_id=octets(1)))
    assert found is not None
    assert found.body == b"9"
