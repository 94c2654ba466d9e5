"""What the settings of an address make of the expiry of what arrives there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from broker import sql
from broker.client import SessionMode
from broker.config.address_settings import DEFAULTS
from broker.errors import NoSuchAddress
from broker.models import AddressSetting, Kind, Message, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.arrival_expiry import (
    FIELDS,
    LONGEST_MS,
    applied,
    lifetime_by,
    lifetime_on,
)
from broker.queueing.arrival_expiry import expiry as expiry_by
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import expiry
from broker.sql import database_now
from broker.transactions.scope import UnitOfWork
from tests.broker.receiving import AUTO, TRANSACTED, session
from tests.make import NOON, make_messages, make_queue, make_setting, seconds


def rule(
    *, none: bool = False, delay: int = -1, least: int = -1, longest: int = -1
) -> AddressSetting:
    """Merged settings as a value; nothing is stored."""
    values = dict(zip(FIELDS, (none, delay, least, longest), strict=True))
    return AddressSetting(match="orders", **DEFAULTS | values)


def at(after_ms: int | None) -> datetime | None:
    """So many milliseconds after noon; None is never."""
    return None if after_ms is None else NOON + timedelta(milliseconds=after_ms)


CELLS: list[tuple[dict[str, Any], dict[int | None, int | None]]] = [
    # what is set, and what becomes of what is sent, in milliseconds after noon
    ({}, {None: None, 5000: 5000, 0: 0, -1: -1}),
    ({"none": True}, {None: None, 5000: None, 0: None, -1: None}),
    ({"delay": 1000}, {None: 1000, 5000: 5000, 1: 1, -1: -1}),
    ({"delay": 0}, {None: 0, 5000: 5000}),
    ({"longest": 3000}, {None: 3000, 2999: 2999, 3000: 3000, 3001: 3000, -1: -1}),
    ({"longest": 0}, {None: 0, 5000: 0, 1: 0, -1: -1}),
    ({"least": 2000}, {None: 2000, 1999: 2000, 2000: 2000, 2001: 2001, -1: 2000}),
    ({"least": 0}, {None: 0, 5000: 5000, -1: 0}),
    (
        {"least": 2000, "longest": 3000},
        {None: 3000, 1: 2000, 2500: 2500, 9000: 3000, -1: 2000},
    ),
    # Nonsense, and what Artemis makes of it: the longest is looked at first.
    ({"least": 3000, "longest": 2000}, {None: 2000, 1: 3000, 2000: 3000, 2500: 2000}),
    # Each excludes those after it, also where it does nothing itself.
    ({"none": True, "delay": 1000}, {None: None, 5000: None}),
    ({"none": True, "least": 2000, "longest": 3000}, {None: None, 1: None, 9000: None}),
    ({"delay": 1000, "least": 2000}, {None: 1000, 1: 1}),
    ({"delay": 1000, "longest": 500}, {None: 1000, 9000: 9000}),
    ({"none": True, "delay": 1000, "least": 1, "longest": 2}, {None: None, 9: None}),
]


@pytest.mark.spec("EXP-3")
@pytest.mark.parametrize(
    ("settings", "sent", "given"),
    [
        (settings, sent, given)
        for settings, cases in CELLS
        for sent, given in cases.items()
    ],
)
def test_the_rules_of_arrival_in_their_order(
    settings: dict[str, Any], sent: int | None, given: int | None
) -> None:
    assert expiry_by(rule(**settings), at(sent), NOON) == at(given)


spans = st.just(-1) | st.integers(0, 10_000) | st.integers(LONGEST_MS, 2**63 - 1)
moments = st.none() | st.datetimes(
    NOON.replace(tzinfo=None) - seconds(20),
    NOON.replace(tzinfo=None) + seconds(20),
    timezones=st.just(UTC),
)


@given(none=st.booleans(), delay=spans, least=spans, longest=spans, sent=moments)
def test_what_always_holds_of_an_expiry(
    none: bool, delay: int, least: int, longest: int, sent: datetime | None
) -> None:
    settings = rule(none=none, delay=delay, least=least, longest=longest)
    given_ = expiry_by(settings, sent, NOON)

    life = lifetime_by(settings)
    assert sent is not None or given_ == (None if life is None else NOON + life)
    assert expiry_by(settings, given_, NOON) == given_ or least > longest >= 0
    if none:
        assert given_ is None
    elif delay >= 0:
        assert given_ is not None
        assert sent in (None, given_)
    elif given_ is not None and given_ != sent:
        assert given_ in (at(min(least, LONGEST_MS)), at(min(longest, LONGEST_MS)))
    if not none and delay < 0 <= longest and least <= longest:
        assert given_ is not None
        assert given_ - NOON <= timedelta(milliseconds=min(longest, LONGEST_MS))


def expiries(queue: Queue) -> list[datetime | None]:
    """Of the entries, which are what counts, and of their messages."""
    entries = Ready.objects.filter(queue_id=queue.pk).order_by("id")
    found = list(entries.values_list("expires_at", flat=True))
    ids = entries.values_list("id", flat=True)
    messages = Message.objects.filter(pk__in=list(ids)).order_by("pk")
    assert found == list(messages.values_list("expires_at", flat=True))
    return found


@pytest.mark.spec("EXP-3")
def test_what_is_put_lives_by_the_settings_of_its_address(orders: Queue) -> None:
    make_setting("#", max_expiry_delay_ms=60_000)
    make_setting("orders", min_expiry_delay_ms=10_000)
    lives = [None, *(NOON + seconds(s) for s in (1, 30, 90))]
    put_many(
        [NewMessage("orders", expires_at=life) for life in lives],
        now=NOON,
    )
    assert expiries(orders) == [NOON + seconds(s) for s in (60, 10, 30, 60)]


@pytest.mark.spec("EXP-3")
def test_each_field_is_decided_by_the_most_specific_setting(orders: Queue) -> None:
    make_setting("#", no_expiry=True, expiry_delay_ms=9000)
    make_setting("orders", no_expiry=False, expiry_delay_ms=-1)
    put("orders", expires_at=NOON + seconds(1), now=NOON)
    put("orders", now=NOON)
    assert expiries(orders) == [NOON + seconds(1), None]


@pytest.mark.spec("EXP-3")
def test_a_changed_setting_counts_from_the_next_put_and_not_before(
    orders: Queue,
) -> None:
    put("orders", now=NOON)
    setting = make_setting("orders", expiry_delay_ms=1000)
    put("orders", now=NOON)
    AddressSetting.objects.filter(pk=setting.pk).update(expiry_delay_ms=2000)
    put("orders", now=NOON)
    setting.delete()
    put("orders", now=NOON)
    assert expiries(orders) == [None, NOON + seconds(1), NOON + seconds(2), None]


@pytest.mark.spec("EXP-3")
def test_what_a_unit_of_work_puts_arrives_with_its_commit(orders: Queue) -> None:
    make_setting("orders", expiry_delay_ms=1000)
    work = UnitOfWork(now=NOON)
    work.put("orders")
    work.now = NOON + seconds(30)
    work.commit()
    assert expiries(orders) == [NOON + seconds(31)]


@pytest.mark.spec("EXP-3")
@pytest.mark.parametrize("mode", [AUTO, TRANSACTED])
def test_what_a_client_sends_is_ruled_like_any_other(
    orders: Queue, mode: SessionMode
) -> None:
    make_setting("orders", max_expiry_delay_ms=1000)
    one = session(mode)
    one.producer("orders").send(time_to_live=seconds(60))
    if mode is TRANSACTED:
        one.commit()
    assert expiries(orders) == [NOON + seconds(1)]


@pytest.mark.spec("EXP-3", "EXP-1")
@pytest.mark.parametrize("field", ["expiry_delay_ms", "max_expiry_delay_ms"])
def test_what_expires_at_once_is_stored_and_ended_by_the_next_scan(
    orders: Queue, field: str
) -> None:
    make_setting("orders", **{field: 0})

    receipt = put("orders", now=NOON)

    assert receipt.queue_ids == [orders.pk]
    assert journal.depths()[orders.pk].ready == 1
    assert UnitOfWork(now=NOON).get("orders") == []
    assert expiry.expire(limit=10, now=NOON) == 1
    assert journal.depths()[orders.pk].done[Kind.EXPIRE] == 1
    assert fsck.violations() == []


@pytest.mark.spec("EXP-3")
def test_without_a_time_given_the_database_s_clock_counts(orders: Queue) -> None:
    make_setting("orders", expiry_delay_ms=60_000)
    before = database_now()
    put("orders")
    (expires_at,) = expiries(orders)
    assert expires_at is not None
    assert before <= expires_at - seconds(60) <= database_now()


def test_a_rule_beyond_the_calendar_is_a_thousand_years(orders: Queue) -> None:
    make_setting("orders", expiry_delay_ms=2**63 - 1)
    put("orders", now=NOON)
    assert expiries(orders) == [NOON + timedelta(milliseconds=LONGEST_MS)]
    assert lifetime_on("orders") == timedelta(milliseconds=LONGEST_MS)


@pytest.mark.parametrize(
    ("match", "covers"),
    [
        ("shop.orders", True),
        ("shop.*", True),
        ("shop.#", True),
        ("*.orders", True),
        ("shop.orders.#", True),
        ("#", True),
        ("shop.orders.new", False),
        ("shop", False),
        ("shop.*.new", False),
        ("other.#", False),
        ("shop_orders", False),
    ],
)
def test_patterns_of_every_kind_are_seen_by_a_put(
    db: None, match: str, covers: bool
) -> None:
    queue = make_queue("shop.orders")
    make_setting(match, expiry_delay_ms=1000)
    put("shop.orders", now=NOON)
    assert expiries(queue) == [NOON + seconds(1) if covers else None]


@pytest.mark.parametrize(
    ("address", "match"),
    [("shop/orders", "shop/>"), ("shop", "shop/>"), ("a/>", "(a/>)")],
)
def test_patterns_are_seen_in_whatever_way_they_are_written(
    db: None, settings: Any, address: str, match: str
) -> None:
    settings.BROKER_WILDCARD_DELIMITER = "/"
    settings.BROKER_WILDCARD_ANY_WORDS = ">"
    settings.BROKER_LITERAL_MATCH_MARKERS = "()"
    queue = make_queue(address)
    make_setting(match, expiry_delay_ms=1000)
    put(address, now=NOON)
    assert expiries(queue) == [NOON + seconds(1)]


def test_messages_keep_their_order_where_queues_differ_in_what_they_take(
    db: None,
) -> None:
    even = make_queue("even", address="numbers", selector="parity = 'even'")
    odd = make_queue("odd", address="numbers", selector="parity = 'odd'")
    make_setting("numbers", expiry_delay_ms=1000)
    Queue.objects.update(routing_type=0)
    numbers = [0, 2, 4, 1, 3, 6, 5]

    receipts = put_many(
        [
            NewMessage(
                "numbers",
                str(number).encode(),
                properties={"parity": "odd" if number % 2 else "even"},
            )
            for number in numbers
        ],
        now=NOON,
    )

    ids = [receipt.message_id for receipt in receipts]
    assert ids == sorted(ids)
    takers = [receipt.queue_ids for receipt in receipts]
    assert takers == [[odd.pk if number % 2 else even.pk] for number in numbers]
    assert {*expiries(even), *expiries(odd)} == {NOON + seconds(1)}


def test_an_address_that_is_not_there_is_refused_under_a_rule_too(db: None) -> None:
    make_setting("#", expiry_delay_ms=1000)
    with pytest.raises(NoSuchAddress):
        put("nowhere", now=NOON)


@pytest.mark.parametrize(
    ("match", "statements"),
    [
        ("invoices.#", ["put"]),  # it cannot be about orders
        ("orders", ["put", "look", "put"]),
        ("#", ["put", "look", "put"]),
    ],
)
def test_a_put_under_a_rule_is_two_statements_more(
    orders: Queue, match: str, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_setting(match, expiry_delay_ms=1000)
    read, run = sql.statement, list[str]()

    def reading(name: str) -> bytes:
        run.append(name)
        return read(name)

    monkeypatch.setattr(sql, "statement", reading)
    with CaptureQueriesContext(connection) as others:
        put_many(make_messages(1000))
    assert run == statements
    assert not [one["sql"] for one in others if "SAVEPOINT" not in one["sql"]]


def test_messages_that_a_rule_leaves_alone_are_the_same(orders: Queue) -> None:
    make_setting("orders", expiry_delay_ms=1000)
    fixed, free = NewMessage("orders", expires_at=NOON), NewMessage("orders")
    after = applied("orders", [fixed, free], now=NOON)
    assert after[0] is fixed
    assert after[1].expires_at == NOON + seconds(1)
