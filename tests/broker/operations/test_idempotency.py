"""Answers that are kept for who asks again: claimed and kept in one transaction."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from pytest_django import Settings

from broker.errors.answers import AnotherRequest
from broker.models import StoredResponse
from broker.operations import idempotency
from broker.operations.idempotency import Answer
from tests.console.until import until
from tests.make import NOON

DONE = Answer(200, "application/json", b"{}")


@pytest.mark.django_db
def test_a_key_is_claimed_once_and_then_answers() -> None:
    assert idempotency.claim("user 1", "k", b"digest") is None
    idempotency.keep("user 1", "k", DONE)

    assert idempotency.claim("user 1", "k", b"digest") == DONE
    assert idempotency.claim("user 2", "k", b"another") is None


@pytest.mark.django_db
def test_a_key_is_for_one_request() -> None:
    idempotency.claim("user 1", "k", b"digest")

    with pytest.raises(AnotherRequest):
        idempotency.claim("user 1", "k", b"another")


@pytest.mark.django_db
def test_answers_are_forgotten_when_they_were_kept_long_enough(
    settings: Settings,
) -> None:
    settings.BACKOUT_ANSWERS_KEPT_HOURS = 1
    for minute in range(3):
        at = NOON + timedelta(minutes=minute)
        idempotency.claim("user 1", str(minute), b"", now=at)

    hour_later = NOON + timedelta(hours=1, minutes=1)
    assert idempotency.forget_old(limit=1, now=hour_later) == 1
    assert idempotency.forget_old(limit=10, now=hour_later) == 1
    assert StoredResponse.objects.get().key == "2"


@pytest.mark.parametrize("commits", [True, False])
def test_who_comes_meanwhile_waits_for_the_end(
    transactional_db: None, commits: bool
) -> None:
    got: list[Answer | None] = []

    def second() -> None:
        with transaction.atomic():
            got.append(idempotency.claim("user 1", "k", b"digest"))
        connection.close()

    with transaction.atomic():
        idempotency.claim("user 1", "k", b"digest")
        waiting = threading.Thread(target=second)
        waiting.start()
        until(one_is_blocked)
        if commits:
            idempotency.keep("user 1", "k", DONE)
        else:
            transaction.set_rollback(True)
    waiting.join(timeout=30)

    assert got == [DONE if commits else None]


def test_nobody_waits_longer_than_for_a_lock(transactional_db: None) -> None:
    refused: list[BaseException] = []

    def second() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '50ms'")
                idempotency.claim("user 1", "k", b"digest")
        except OperationalError as error:
            refused.append(error)
        connection.close()

    with transaction.atomic():
        idempotency.claim("user 1", "k", b"digest")
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(timeout=30)

    assert len(refused) == 1


def one_is_blocked() -> bool:
    """By the locks of PostgreSQL, which are never read from a snapshot."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks AS held JOIN pg_locks AS waiting"
            " USING (transactionid) WHERE held.granted AND NOT waiting.granted"
            " AND held.pid = pg_backend_pid()"
        )
        return bool(cursor.fetchone() == (1,))
