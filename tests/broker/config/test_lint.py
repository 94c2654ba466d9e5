"""Settings that are allowed and hardly meant are told from those that are meant."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import WARNING, run_checks
from django.db import connection
from django.db.models import Model
from pytest_django import Settings

from broker.checks import settings_are_meant
from broker.config.advice import Advice
from broker.config.lint import advice
from broker.models import AddressSetting, ModelQueue, Queue, QueueAlias
from broker.queueing.put import put_many
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.django_db

Policy = AddressSetting.PoisonPolicy
DLQ = "SYSTEM.DEAD.LETTER.QUEUE"


@pytest.fixture(autouse=True)
def _broker_wide(settings: Settings) -> None:
    settings.BROKER_DEAD_LETTER_QUEUE = DLQ
    settings.BROKER_MAX_MESSAGE_BYTES = 10_000


def codes(queue: str = "orders") -> list[str]:
    return [one.code for one in advice() if one.queue == queue]


def only(code: str) -> Advice:
    (found,) = [one for one in advice() if one.code == code]
    return found


@pytest.mark.spec("POISON-10")
@pytest.mark.parametrize(
    ("threshold", "backout_queue", "is_warned"),
    [(1, "", True), (0, "", False), (1, "poison", False), (0, "poison", False)],
)
def test_a_threshold_without_a_backout_queue_is_warned_about(
    threshold: int, backout_queue: str, is_warned: bool
) -> None:
    make_queue("poison")
    make_queue(backout_threshold=threshold, backout_queue=backout_queue)

    assert codes() == ["threshold-without-backout-queue"] * is_warned


@pytest.mark.spec("POISON-10")
def test_a_model_queue_is_warned_about_as_its_copies_are() -> None:
    ModelQueue.objects.create(name="MODEL", backout_threshold=3)

    assert codes("MODEL") == ["threshold-without-backout-queue"]
    assert "backout threshold of 3 and no backout queue" in str(
        only("threshold-without-backout-queue")
    )


@pytest.mark.parametrize("names_an_alias", [False, True])
def test_a_backout_queue_that_is_missing_or_itself_is_warned_about(
    names_an_alias: bool,
) -> None:
    name = "poison"
    if names_an_alias:
        name = "alias"
        QueueAlias.objects.create(name="alias", target="poison")
    orders = make_queue(backout_threshold=1, backout_queue=name)
    assert codes() == ["no-such-backout-queue"]

    poison = make_queue("poison")
    assert codes() == []

    poison.backout_queue = name
    poison.save()
    assert codes("poison") == ["own-backout-queue"]
    orders.refresh_from_db()
    assert codes() == []


def test_an_alias_of_an_address_stands_for_its_only_queue() -> None:
    make_queue(backout_threshold=1, backout_queue="alias")
    QueueAlias.objects.create(name="alias", target="bad")
    make_queue("poison", address="bad")
    assert codes() == []

    make_queue("more poison", address="bad")

    assert codes() == ["no-such-backout-queue"]


@pytest.mark.spec("UNIFY-3")
@pytest.mark.parametrize(
    ("policy", "threshold", "attempts", "is_warned"),
    [
        (Policy.BOTH, 3, 3, True),
        (Policy.BOTH, 4, 3, True),
        (Policy.BOTH, 2, 3, False),
        (Policy.BOTH, 10, None, True),  # attempts are 10 where nobody said otherwise
        (Policy.BOTH, 9, None, False),
        (Policy.BOTH, 3, 0, False),  # no limit
        (Policy.BOTH, 3, -1, False),
        (Policy.IBM, 3, 3, False),
        (Policy.ARTEMIS, 3, 3, False),
        (Policy.NONE, 3, 3, False),
        (None, 3, 3, False),  # a queue with a threshold follows IBM MQ
    ],
)
def test_a_threshold_that_no_message_lives_to_reach_is_warned_about(
    policy: str | None, threshold: int, attempts: int | None, is_warned: bool
) -> None:
    make_queue("poison")
    make_setting("#", poison_policy=policy)
    make_setting("orders", max_delivery_attempts=attempts)
    make_queue(backout_threshold=threshold, backout_queue="poison")

    assert ("threshold-never-reached" in codes()) is is_warned


@pytest.mark.spec("ASF-12")
def test_a_missing_dead_letter_queue_is_told(settings: Settings) -> None:
    assert codes(DLQ) == ["no-dead-letter-queue"]

    make_queue(DLQ)

    assert codes(DLQ) == []
    settings.BROKER_DEAD_LETTER_QUEUE = "elsewhere"
    assert codes("elsewhere") == ["no-dead-letter-queue"]


@pytest.mark.spec("ASF-12")
@pytest.mark.parametrize(
    ("messages", "most", "is_warned"),
    [(8, 10, False), (9, 10, True), (9, None, False), (0, 0, False)],
)
def test_a_dead_letter_queue_that_fills_is_told(
    messages: int, most: int | None, is_warned: bool
) -> None:
    dead = make_queue(DLQ)
    put_many(make_messages(messages, DLQ))
    dead.max_depth = most
    dead.save()

    assert codes(DLQ) == ["dead-letter-queue-fills"] * is_warned


@pytest.mark.spec("ASF-12")
def test_a_dead_letter_queue_that_takes_no_puts_is_told() -> None:
    make_queue(DLQ, put_inhibited=True)
    assert codes(DLQ) == ["dead-letter-queue-inhibited"]


@pytest.mark.spec("ASF-12")
@pytest.mark.parametrize(
    ("largest", "takes", "is_warned"),
    [
        (1000, 1172, False),
        (1000, 1171, True),
        (None, 10_172, False),  # the broker's own limit is the largest then
        (None, 10_171, True),
        (1000, None, False),
    ],
)
def test_a_dead_letter_queue_without_room_for_the_header_is_told(
    largest: int | None, takes: int | None, is_warned: bool
) -> None:
    make_queue("small", max_message_bytes=10)
    make_queue(max_message_bytes=largest)
    make_queue(DLQ, max_message_bytes=takes)

    assert codes(DLQ) == ["dead-letter-queue-too-short"] * is_warned


def test_advice_names_the_cause_and_the_remedy() -> None:
    make_queue(backout_threshold=3)
    make_setting(poison_policy=Policy.BOTH, max_delivery_attempts=2)

    found = only("threshold-never-reached")

    assert str(found) == (
        "orders has the poison policy “both” and a backout threshold of 3, but messages"
        " leave it at their backout number 2: the threshold is never reached. Set a"
        " threshold below 2, or allow more delivery attempts."
    )


def test_advice_is_few_queries_however_many_queues(
    django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue(DLQ, max_depth=1, max_message_bytes=1)
    read: list[str] = []
    for number in range(9):
        make_queue(f"q{number}", backout_threshold=1)
        make_queue(f"calm{number}")

    def from_db(model: type[Queue], *row: Any, **how: Any) -> Queue:
        queue = Model.from_db.__func__(model, *row, **how)  # type: ignore[attr-defined]
        assert isinstance(queue, Queue)
        read.append(queue.name)
        return queue

    monkeypatch.setattr(Queue, "from_db", classmethod(from_db))
    with django_assert_max_num_queries(8):
        assert len(advice()) == 10
    assert not [name for name in read if name.startswith("calm")]


def test_the_checks_of_django_warn_and_stop_nothing() -> None:
    make_queue(DLQ)
    make_queue(backout_threshold=1)

    (found,) = [
        one
        for one in run_checks(tags=["database"], databases=["default"])
        if one.level == WARNING
    ]

    assert found.id == "broker.threshold-without-backout-queue"
    assert found.hint == "Name a backout queue."
    assert settings_are_meant() == []


def test_before_its_tables_are_made_there_is_no_advice() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE broker_modelqueue RENAME TO later")

    assert settings_are_meant(databases=["default"]) == []
