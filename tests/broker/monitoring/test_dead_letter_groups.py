"""Groups of dead letters as work: who has it, and when it asks for somebody again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import operations
from broker.errors.groups import InvalidSnooze, InvalidTicket, NoSuchGroup
from broker.formats.error_fingerprint import fingerprint
from broker.models import DeadLetter, DeadLetterGroup, Queue
from broker.monitoring import dead_letter_groups, dead_letters
from broker.monitoring.dead_letter_groups import Attention, Trend
from broker.queueing.put import put_many
from tests.broker.dying import ERROR, back_out, make_dead_letters, operator, plan
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

KEY = fingerprint(ERROR).key
HERE = [("orders", "MAX_DELIVERY_ATTEMPTS")]
DAY = minutes(24 * 60)


@pytest.fixture(autouse=True)
def letters(db: None) -> list[int]:
    return make_dead_letters(3)


def stands(at: float = 0) -> dead_letter_groups.Standing:
    """How the group stands, some minutes after noon."""
    said = dead_letter_groups.group_rows([KEY]).get(KEY)
    return dead_letter_groups.standing(said, dead_letters.groups(), NOON + minutes(at))


def test_a_group_of_which_nobody_said_anything_has_no_row() -> None:
    assert stands().attention is Attention.NEW
    assert not DeadLetterGroup.objects.exists()


def test_what_is_acknowledged_no_longer_asks_for_somebody() -> None:
    dead_letter_groups.acknowledge(KEY, operator(), HERE, now=NOON)

    row = DeadLetterGroup.objects.get()
    assert stands().attention is Attention.ACKNOWLEDGED
    assert (row.acknowledged_by, row.acknowledged_at) == (operator(), NOON)


def test_what_was_said_is_there_when_the_letters_come_back() -> None:
    dead_letter_groups.acknowledge(KEY, operator(), HERE, now=NOON)
    dead_letter_groups.describe(KEY, owner=operator(), note="row 17", now=NOON)
    operations.start(plan().pk)
    assert not dead_letters.groups()

    assert back_out(limit=3, at=1)

    row = dead_letter_groups.group_rows([KEY])[KEY]
    assert stands(2).attention is Attention.ACKNOWLEDGED
    assert (row.owner, row.note) == (operator(), "row 17")


def test_a_group_asks_again_where_it_was_not_known() -> None:
    dead_letter_groups.acknowledge(KEY, operator(), HERE, now=NOON)
    make_queue("bills")
    make_setting("bills", max_delivery_attempts=1, dead_letter_address="DLA")
    put_many(make_messages(1, "bills"), now=NOON)

    back_out("bills", at=1)

    assert stands(1) == dead_letter_groups.Standing(
        Attention.BACK, "it is new on bills: delivery attempts used up"
    )


def test_what_is_put_off_is_back_when_its_time_comes() -> None:
    dead_letter_groups.snooze(KEY, operator(), HERE, until=NOON + minutes(60), now=NOON)

    assert stands(59).attention is Attention.SNOOZED
    assert stands(60).attention is Attention.BACK
    assert "that time is over" in stands(60).why


def test_what_is_put_off_is_back_at_once_when_it_grows() -> None:
    until = NOON + minutes(60)
    dead_letter_groups.snooze(KEY, operator(), HERE, until=until, above=3, now=NOON)
    assert stands(1).attention is Attention.SNOOZED

    make_dead_letters(1)

    assert stands(1).attention is Attention.BACK
    assert stands(1).why == "it has 4 letters, more than 3"


def test_to_put_off_and_to_acknowledge_each_end_the_other() -> None:
    dead_letter_groups.snooze(
        KEY, operator(), HERE, until=NOON + minutes(60), above=9, now=NOON
    )
    dead_letter_groups.acknowledge(KEY, operator(), HERE, now=NOON)
    assert stands(90).attention is Attention.ACKNOWLEDGED

    dead_letter_groups.snooze(KEY, operator(), HERE, until=NOON + minutes(60), now=NOON)
    assert stands(90).attention is Attention.BACK

    dead_letter_groups.reopen(KEY, now=NOON)
    assert stands().attention is Attention.NEW


@pytest.mark.parametrize("until", [NOON, NOON - minutes(1), NOON + 366 * DAY])
def test_nothing_is_put_off_to_the_past_or_for_ever(until: object) -> None:
    with pytest.raises(InvalidSnooze):
        dead_letter_groups.snooze(KEY, operator(), HERE, until=until, now=NOON)  # type: ignore[arg-type]
    assert not DeadLetterGroup.objects.exists()


def test_of_what_never_was_nothing_is_said() -> None:
    with pytest.raises(NoSuchGroup):
        dead_letter_groups.acknowledge("0" * 12, operator(), HERE, now=NOON)


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,x",
        "//example.com/1",
        "/local",
        "https://",
        "https:///path",
        "http://omar:secret@example.com/",
        "https://example.com/\nx",
        "https://example.com/ x",
        'https://example.com/"onclick="x',
        "https://example.com/\u202e",
        "https://exa mple.com",
        "https://[::1",
        "https://example.com:99999/",
        "https://example.com/" + "x" * 500,
    ],
)
def test_a_ticket_is_a_plain_link_to_the_web(link: str) -> None:
    with pytest.raises(InvalidTicket):
        dead_letter_groups.describe(KEY, ticket=link, now=NOON)
    assert not DeadLetterGroup.objects.exists()


@pytest.mark.parametrize(
    "link", ["https://tickets.example.com/OPS-17?x=1#c2", "http://localhost:8080/17"]
)
def test_a_ticket_may_be_anywhere_on_the_web(link: str) -> None:
    assert dead_letter_groups.describe(KEY, ticket=f" {link} ", now=NOON).ticket == link


@given(st.text() | st.from_regex(r"https?://\S{0,9}", fullmatch=True))
def test_any_text_is_a_link_to_the_web_or_refused(link: str) -> None:
    try:
        dead_letter_groups.check_ticket(link)
    except InvalidTicket:
        return
    assert link.lower().startswith(("http://", "https://"))
    assert link.isprintable()


def test_the_trend_counts_deaths_by_hour() -> None:
    make_dead_letters(2)
    DeadLetter.objects.filter(message_id__in=triage_ids()[:1]).update(
        died_at=NOON - minutes(150)
    )
    queues = list(Queue.objects.values_list("pk", flat=True))

    trend = dead_letter_groups.trends([KEY, "0" * 12], queues, now=NOON + minutes(1))[
        KEY
    ]

    assert trend.hours == (0,) * 21 + (1, 0, 4)
    assert (trend.last_hour, trend.total, trend.is_above_usual) == (4, 5, True)
    assert dead_letter_groups.trends([KEY], [], now=NOON) == {}
    assert not Trend().is_above_usual


def triage_ids() -> list[int]:
    return [
        letter.message_id for letter in dead_letters.letters(dead_letters.Selection())
    ]


def test_a_group_knows_in_whose_hands_it_died(letters: list[int]) -> None:
    put_many(make_messages(2), now=NOON)
    back_out(limit=2, actor="shop.handle")
    queues = list(Queue.objects.values_list("pk", flat=True))

    assert dead_letter_groups.consumers_of(KEY, queues) == [("", 3), ("shop.handle", 2)]


def test_a_group_knows_its_last_resubmit_and_how_it_went(letters: list[int]) -> None:
    queues = list(Queue.objects.values_list("pk", flat=True))
    assert dead_letter_groups.last_resubmit(KEY, queues) is None
    operation = plan()
    operations.start(operation.pk)
    back_out(limit=1, at=1)

    assert dead_letter_groups.last_resubmit(
        KEY, queues
    ) == dead_letter_groups.LastResubmit(operation.pk, 3, 1)
