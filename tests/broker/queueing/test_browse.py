"""Looking at messages: all of them, in order, and without a trace."""

from __future__ import annotations

import random

import pytest
from django.db import connection

from broker.models import Place, Queue, RoutingType
from broker.monitoring import dead_letters
from broker.queueing import browse, journal
from broker.queueing.browse import Browsed
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out
from tests.broker.elsewhere import Elsewhere
from tests.conftest import HOT, MAP
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

EVERYWHERE = list(Place)


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_pages_of_ready_entries_have_all_of_them_in_the_order_of_gets(
    limit: int,
) -> None:
    orders = make_queue("orders")
    fill_with_new_and_returned()

    listed = [entry.message_id for entry in all_pages(orders, Place.READY, limit)]

    taken = [d.message_id for d in UnitOfWork(now=NOON).get("orders", 100)]
    assert listed == taken
    assert len(listed) == len(set(listed)) == 23


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [1, 4, 50])
def test_pages_of_delayed_entries_have_all_of_them_the_next_due_first(
    limit: int,
) -> None:
    orders = make_queue("orders")
    far = minutes(60 * 24 * 365 * 100)
    waits = [seconds(3), seconds(1), seconds(3), seconds(0.000001), seconds(0.2), far]
    ids = [put("orders", deliver_at=NOON + wait, now=NOON).message_id for wait in waits]

    pages = all_pages(orders, Place.DELAYED, limit)

    in_order = sorted(zip(waits, ids, strict=True))
    assert [entry.message_id for entry in pages] == [one for _, one in in_order]
    assert [entry.until for entry in pages] == [NOON + wait for wait, _ in in_order]


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [1, 4, 50])
def test_pages_of_claimed_entries_have_all_of_them_with_their_unit_of_work(
    limit: int,
) -> None:
    orders = make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(9), now=NOON)]
    one, other = UnitOfWork(now=NOON), UnitOfWork(now=NOON)
    for work in (one, other, one):
        work.get("orders", 3)

    pages = all_pages(orders, Place.CLAIMED, limit)

    assert [entry.message_id for entry in pages] == ids
    assert [entry.uow for entry in pages[::3]] == [one.id, other.id, one.id]
    assert {entry.until for entry in pages} == {NOON + minutes(5)}


@pytest.mark.django_db
def test_an_entry_that_leaves_between_two_pages_moves_no_other() -> None:
    orders = make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(6), now=NOON)]
    first = browse.browse(orders.pk, Place.READY, limit=3)
    UnitOfWork(now=NOON).get("orders", 3)  # all of the first page, its last one too

    rest = browse.browse(orders.pk, Place.READY, after=first[-1].cursor)

    assert [entry.message_id for entry in rest] == ids[3:]


@pytest.mark.django_db
def test_an_entry_is_shown_with_the_head_of_its_body() -> None:
    orders = make_queue("orders")
    put(
        "orders",
        b"\x00" * 500,
        content_type="text/plain",
        subject="order",
        producer="web",
        priority=7,
        expires_at=NOON + minutes(1),
        now=NOON,
    )

    (shown,) = browse.browse(orders.pk, Place.READY)

    assert (shown.place, shown.priority, shown.backout_count) == (Place.READY, 7, 0)
    assert (shown.size_bytes, shown.head) == (500, b"\x00" * 160)
    assert (shown.content_type, shown.subject) == ("text/plain", "order")
    assert (shown.producer, shown.put_at) == ("web", NOON)
    assert (shown.until, shown.expires_at) == (None, NOON + minutes(1))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("place", "cursor"),
    [(Place.READY, text) for text in ("x", "1", "1.x", "10.5", "-1.5", "9.5.5", "1_5")]
    + [(Place.DELAYED, text) for text in ("x", "1", "1_x", "nan_1", "1_1_1", "1.5")]
    + [(Place.CLAIMED, text) for text in ("x", "1.5", " ")]
    + [(Place.READY, text) for text in ("9.9223372036854775807", "9." + "9" * 30)]
    + [(Place.DELAYED, text) for text in ("inf_1", "1e300_1", "1_" + "9" * 30)]
    + [(Place.CLAIMED, "9" * 30)],
)
def test_what_is_no_cursor_is_refused(place: Place, cursor: str) -> None:
    """It comes from the address bar."""
    with pytest.raises(ValueError):  # noqa: PT011
        browse.browse(1, place, after=cursor)


@pytest.mark.django_db
def test_where_a_message_is_on_each_of_its_queues() -> None:
    takers = [
        make_queue(name, address="events", routing_type=RoutingType.MULTICAST)
        for name in ("audit", "delayed", "invoices")
    ]
    make_setting("events", redelivery_delay_ms=1000)
    message_id = put("events", now=NOON).message_id
    back_out("delayed")
    holder = UnitOfWork(now=NOON)
    holder.get("invoices")

    ready, delayed, claimed = browse.where_is(message_id)

    assert [one.queue_id for one in (ready, delayed, claimed)] == [
        queue.pk for queue in takers
    ]
    assert (ready.place, ready.until, ready.holder) == (Place.READY, None, None)
    assert (delayed.place, delayed.until) == (Place.DELAYED, NOON + seconds(1))
    assert (delayed.backout_count, claimed.backout_count) == (1, 0)
    assert (claimed.place, claimed.uow) == (Place.CLAIMED, holder.id)
    assert claimed.holder is not None
    assert " on " in claimed.holder


@pytest.mark.django_db
def test_what_has_ended_is_nowhere() -> None:
    make_queue("orders")
    message_id = put("orders", now=NOON).message_id
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.commit()
    assert browse.where_is(message_id) == []


@pytest.mark.spec("UOW-2")
def test_looking_changes_nothing_and_locks_no_row(elsewhere: Elsewhere) -> None:
    orders = make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    fill_with_new_and_returned()
    put("orders", deliver_at=NOON + minutes(9), now=NOON)
    back_out("orders", limit=3)
    UnitOfWork(now=NOON).get("orders", 2)
    before = dump()

    elsewhere.begin()
    elsewhere(look_at_everything, orders)

    assert dump() == before
    assert elsewhere(transaction_id) is None, "who locks a row needs a transaction id"
    elsewhere.commit()


def look_at_everything(queue: Queue) -> None:
    for place in EVERYWHERE:
        entries = all_pages(queue, place, 5)
        assert entries
        for entry in entries:
            assert browse.where_is(entry.message_id)
            assert journal.lifeline(entry.message_id)
    journal.depths()
    assert dead_letters.groups()
    assert dead_letters.letters(dead_letters.Selection())


def fill_with_new_and_returned() -> None:
    """New entries of several priorities, and some that came back."""
    dice = random.Random(17)
    for batch in range(3):
        for _ in range(7):
            put("orders", priority=dice.choice([0, 4, 5, 9]), now=NOON)
        if batch < 2:
            back_out("orders", limit=4)
    put_many(make_messages(2, priority=4), now=NOON)


def all_pages(queue: Queue, place: Place, limit: int) -> list[Browsed]:
    found = page = browse.browse(queue.pk, place, limit=limit)
    while page:
        assert len(page) <= limit
        page = browse.browse(queue.pk, place, after=page[-1].cursor, limit=limit)
        found = found + page
    return found


def dump() -> dict[str, list[tuple[str, ...]]]:
    """Every row of the broker, where it lies, and who wrote or locked it."""
    rows = {}
    with connection.cursor() as cursor:
        for table in [*MAP, *HOT, "watermark"]:
            cursor.execute(
                "SELECT tableoid::text, ctid::text, xmin::text, xmax::text, t::text"
                f" FROM broker_{table} AS t ORDER BY 1, 2"
            )
            rows[table] = cursor.fetchall()
    return rows


def transaction_id() -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned()")
        return cursor.fetchone()[0]
