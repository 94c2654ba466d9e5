"""Finding by a filter: what is found is what a look at each message would find."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from broker.errors.messages import SearchTooLong
from broker.formats.filters import Filter, parse
from broker.models import Message, Queue
from broker.monitoring import search
from broker.monitoring.search import Count, pages, walking
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.put import put, put_many
from tests.broker.dying import make_dead_letters
from tests.broker.found import FRAGMENTS, NOW, every_entry, make_scene, meets
from tests.conftest import HOT
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.django_db
Keys = list[tuple[int, int]]


def every_queue() -> dict[int, str]:
    return dict(Queue.objects.values_list("pk", "name"))


def found(wanted: Filter | str, limit: int = 50) -> Keys:
    """All pages, one after the other."""
    read = parse(wanted) if isinstance(wanted, str) else wanted
    return [key for page in pages_of(read, limit) for key in page]


def pages_of(wanted: Filter, limit: int) -> Iterator[Keys]:
    within, after = every_queue(), ""
    for _ in range(500):
        page = search.find(wanted, within=within, after=after, limit=limit, now=NOW)
        assert len(page.rows) <= limit
        yield [(one.message_id, one.queue_id) for one in page.rows]
        after = page.after
        if not after:
            return
    raise AssertionError(f"{wanted} finds no end")


@pytest.fixture
def numbers_from_1() -> None:
    """Small steps through all that other tests have put would be many.

    What gets have learned of larger numbers would have them begin behind these.
    """
    FLOORS.forget()
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE broker_message_id_seq RESTART")


@pytest.fixture
def in_small_steps(numbers_from_1: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few messages take many looks, of every kind."""
    monkeypatch.setattr(walking, "FIRST_SCAN", 3)
    monkeypatch.setattr(walking, "SCAN", 9)
    monkeypatch.setattr(walking, "OF_MESSAGES", 8)
    monkeypatch.setattr(walking, "OF_BODIES", 7)
    monkeypatch.setattr(walking, "STRIDE", 4)
    monkeypatch.setattr(walking, "LEAP", 9)
    monkeypatch.setattr(walking, "WIDER", 4)
    monkeypatch.setattr(pages, "LOOKS", 2)
    monkeypatch.setattr(pages, "BATCH", 4)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_small_steps")
def test_what_is_found_is_what_a_look_at_each_message_finds() -> None:
    make_scene()
    entries = every_entry()
    assert {one.state for one in entries} == {
        *("ready", "delayed", "in-flight", "dead", "discarded")
    }
    drawn = random.Random(7)
    signed = [*FRAGMENTS, *(f"-{one}" for one in FRAGMENTS)]
    texts = ["", *FRAGMENTS, *drawn.sample(signed[len(FRAGMENTS) :], 25)]
    texts += [" ".join(drawn.sample(signed, 2)) for _ in range(25)]
    numbers = sorted({one.message_id for one in entries})
    texts += [f"id:{numbers[0]},{numbers[-1]}", f"{numbers[3]}", f"id:>{numbers[5]}"]
    texts += [f"id:..{numbers[4]} -id:{numbers[1]}", f"id:{numbers[2]}..{numbers[6]}"]
    first = Message.objects.filter(first_id__isnull=False).latest("pk").first_id
    texts += [f"id:{first}", f"{first},{numbers[0]}", f"id:{first},>{numbers[7]}"]
    hits = 0

    for number, text in enumerate(texts):
        wanted = parse(text)
        expected = [
            (one.message_id, one.queue_id) for one in entries if meets(one, wanted)
        ]
        hits += len(expected)
        assert found(wanted, drawn.choice([2, 5, 50])) == expected, text
        if number % 5 == 0:
            frozen = search.keys(wanted, within=every_queue(), now=NOW)
            assert [key for some in frozen for key in some] == expected, text

    assert hits > 500


@pytest.mark.thorough
def test_most_fragments_find_some_and_leave_out_some() -> None:
    make_scene()
    entries = every_entry()

    met = {one: [meets(entry, parse(one)) for entry in entries] for one in FRAGMENTS}

    assert {one for one, found in met.items() if not any(found)} == {
        *("queue:nowhere", 'queue:"orders*"', "at:<2026-03-14", "due:>2026-03-15"),
        *("expires:>2026-03-15", "error:AxB", "resubmits:>0", "body:hay*in"),
        *("body:x*needle", "body.items.1.sku:A-1", "body.nothing:*", "h.list:t7"),
        *("h.tenant:null", "nowhere", "fingerprint:x*"),
    }
    assert {one for one, found in met.items() if all(found)} == {
        *("queue:*", "at:2026-03-14"),
    }


def test_what_is_told_of_a_dead_letter() -> None:
    (letter,) = make_dead_letters(1, subject="order", correlation_id="c1")
    (one,) = search.find(parse("state:dead"), within=every_queue()).rows

    assert (one.message_id, one.state, one.cause) == (
        *(letter, "dead", "MAX_DELIVERY_ATTEMPTS"),
    )
    assert (one.subject, one.correlation_id, one.tries) == ("order", "c1", 1)
    assert one.error == "no such customer 17"
    assert one.origin_queue == "orders"
    assert one.size_bytes == 1


def test_a_count_goes_on_where_a_page_ended() -> None:
    make_scene()
    within, wanted = every_queue(), parse("queue:*")
    whole = search.count(wanted, within=within, now=NOW)
    page = search.find(wanted, within=within, limit=4, now=NOW)

    rest = search.count(wanted, within=within, after=page, now=NOW)

    assert (page.count.messages, page.count.is_exact) == (4, False)
    total = page.count + rest
    assert (total.messages, total.is_exact) == (whole.messages, True)
    assert total.at_hand == whole.at_hand < whole.messages
    assert page.count + Count(0, is_exact=False, looked_at=0, at_hand=0) == page.count


def test_queues_that_may_not_be_looked_at_have_nothing() -> None:
    orders, other = make_queue("orders"), make_queue("other")
    put("orders")
    put("other")

    page = search.find(Filter(), within={other.pk: "other"})

    assert [one.queue_id for one in page.rows] == [other.pk]
    assert search.find(parse("queue:orders"), within={other.pk: "other"}).rows == []
    assert search.find(Filter(), within={}).rows == []
    assert search.count(Filter(), within={orders.pk: "orders"}).messages == 1


def test_a_search_that_is_not_over_says_so_and_goes_on(
    numbers_from_1: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(40))]
    monkeypatch.setattr(walking, "FIRST_SCAN", 5)
    monkeypatch.setattr(walking, "OF_BODIES", 5)
    monkeypatch.setattr(walking, "STRIDE", 5)
    monkeypatch.setattr(walking, "QUICK_S", 0)
    monkeypatch.setattr(pages, "LOOKS", 2)
    wanted = parse(f"body:{1}")
    within = every_queue()

    page = search.find(parse("body:nowhere"), within=within)
    assert (page.rows, page.looked_at, page.is_limited) == ([], 10, True)
    rest = search.find(parse("body:nowhere"), within=within, after=page.after)
    assert rest.is_limited
    counted = search.count(parse("body:nowhere"), within=within)
    assert (counted.messages, counted.is_exact, counted.looked_at) == (0, False, 10)
    expected = [pk for number, pk in enumerate(ids, 1) if "1" in str(number)]
    assert [pk for pk, _ in found(wanted)] == expected[::-1]


def test_a_page_that_is_full_looked_no_further_than_it_had_to() -> None:
    make_queue("orders")
    put_many(make_messages(40))

    page = search.find(Filter(), within=every_queue(), limit=10)
    assert (len(page.rows), page.looked_at, page.is_limited) == (10, 11, False)
    last = search.find(Filter(), within=every_queue(), limit=40)
    assert (len(last.rows), last.after, last.is_limited) == (40, "", False)


def test_a_count_ends_somewhere() -> None:
    make_queue("orders")
    put_many(make_messages(5))
    within = every_queue()

    counted = search.count(Filter(), within=within)
    assert (counted.messages, counted.is_exact, counted.looked_at) == (5, True, 5)
    assert search.count(Filter(), within=within, most=5).is_exact
    counted = search.count(Filter(), within=within, most=4)
    assert (counted.messages, counted.is_exact) == (4, False)


@pytest.mark.parametrize(
    "after", ["x", "1", "1.2.3", "-1.0", "1.-1", "1.99999999999", f"{2**70}.1"]
)
def test_what_is_no_cursor_is_refused(after: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        search.find(Filter(), within=every_queue(), after=after)


def patience() -> object:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return cursor.fetchone()


def test_a_statement_that_takes_too_long_is_stopped() -> None:
    before = patience()
    with (
        pytest.raises(SearchTooLong, match=r"after 0\.05 seconds") as stopped,
        walking.patiently(timedelta(milliseconds=50)),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(30)")
    assert stopped.value.code == "search-too-long"
    assert patience() == before


def test_the_patience_ends_with_the_search() -> None:
    before = patience()
    make_queue("orders")
    search.find(Filter(), within=every_queue())
    assert patience() == before


def contents() -> list[object]:
    with connection.cursor() as cursor:
        told: list[object] = []
        for table in HOT:
            cursor.execute(f"SELECT count(*), max(xmin::text) FROM broker_{table}")
            told.append((table, cursor.fetchone()))
        return told


def test_looking_changes_nothing() -> None:
    make_scene()
    before = contents()
    for text in FRAGMENTS[::5]:
        search.find(parse(text), within=every_queue())
        search.count(parse(text), within=every_queue())

    assert contents() == before


def test_nothing_of_a_filter_is_in_the_statement() -> None:
    make_queue("orders")
    said = "x'; DROP TABLE broker_message; --%(limit)s{of_dead}"
    texts = [f'{key}:"{said}"' for key in ("queue", "type", "error", "body", "origin")]
    texts += [f'h."{said}":"{said}"', f'h."{said}":*"{said}"', f'h."{said}":>1']
    texts += [f'fingerprint:"{said}"', f'"{said}"', "size:>4711", "died:>1999-01-02"]

    for text in texts:
        walk = walking.Walk(parse(text), every_queue(), walking.ONLY_KEYS, now=NOW)
        written = walk.statement.as_string(connection.connection)
        for secret in ("DROP", "4711", "1999"):
            assert secret not in written, text
        assert search.find(parse(text), within=every_queue()).rows == []


def test_clocks_may_differ_and_numbers_have_gaps() -> None:
    """Times and numbers rise together, but for a little."""
    make_queue("orders")
    times = [0, 0.5, 0.2, 3, 2.8, 3.1, 9, 8.9, 20]
    ids = [put("orders", now=NOON + minutes(at)).message_id for at in times]
    Message.objects.filter(pk=ids[4]).delete()

    got = [pk for pk, _ in found("at:2026-03-14T12:03Z..12:08")]

    assert got == [ids[7], ids[5], ids[3]]


def test_an_old_message_that_was_moved_of_late_is_found_by_when_it_was_put() -> None:
    """As IBM MQ moves it, it keeps the time of its put, and has a new number."""
    make_scene()
    (moved,) = found("queue:BOQ")
    for _ in range(20):
        put("orders", now=NOON + minutes(50))

    assert found("at:2026-03-14T12:03Z queue:BOQ") == [moved]
    assert found("at:2026-03-14T12:03Z state:dead origin:poisonous") == [moved]
    assert moved in found("at:..2026-03-14T12:04Z")
    assert found("at:2026-03-14T12:30Z queue:BOQ") == []
