"""Subscriptions that several processes share; here, rows stand for the others."""

from __future__ import annotations

from typing import Any

import pytest

from broker.errors.queues import SubscriptionInUse
from broker.models import (
    ClientConnection,
    ClientEndpoint,
    Owner,
    Queue,
    Subscription,
)
from broker.queueing import processes, shared_subscriptions, subscriptions
from tests.make import NOON, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

KEY: dict[str, Any] = {"client_id": "me", "name": "team"}


@pytest.fixture
def elsewhere() -> Owner:
    """Another process that lives."""
    make_queue("news")
    return Owner.objects.create(
        pk=processes.current() + 1, kind="listener", host="b", pid=1, started_at=NOON
    )


def gets(process: Owner, queue: Queue) -> None:
    """Let a client of a process get from a queue."""
    connection = ClientConnection.objects.create(
        owner_id=process.pk,
        container_id="me",
        mechanism="PLAIN",
        host="127.0.0.1",
        is_encrypted=False,
    )
    ClientEndpoint.objects.create(
        connection=connection, session=0, name="team|1", kind="gets", queue=queue
    )


def test_the_last_of_this_process_leaves_it_to_the_others(elsewhere: Owner) -> None:
    shared = shared_subscriptions.share("news", owner=processes.current(), **KEY)
    gets(elsewhere, shared.queue)

    shared_subscriptions.leave_shared(**KEY)
    kept = Subscription.objects.count()
    ClientEndpoint.objects.all().delete()
    shared_subscriptions.leave_shared(**KEY)

    assert kept == 1
    assert not Subscription.objects.exists()


def test_it_outlives_the_process_that_began_it(elsewhere: Owner) -> None:
    shared = shared_subscriptions.share("news", owner=10**6, **KEY)
    gets(elsewhere, shared.queue)

    subscriptions.end_dead(limit=100)
    kept = Subscription.objects.count()
    elsewhere.delete()
    subscriptions.end_dead(limit=100)

    assert kept == 1
    assert not Subscription.objects.exists()


def test_who_joins_finds_the_same(elsewhere: Owner) -> None:
    first = shared_subscriptions.share("news", owner=processes.current(), **KEY)
    second = shared_subscriptions.share("news", owner=elsewhere.pk, **KEY)
    other = shared_subscriptions.share(
        "news", owner=elsewhere.pk, client_id="you", name="team"
    )

    assert first == second != other


def test_another_selector_waits_for_the_consumers_to_go(elsewhere: Owner) -> None:
    first = shared_subscriptions.share("news", owner=processes.current(), **KEY)
    gets(elsewhere, first.queue)
    red: dict[str, Any] = {
        "selector": "color = 'red'",
        "owner": processes.current(),
        **KEY,
    }

    with pytest.raises(SubscriptionInUse):
        shared_subscriptions.share("news", **red)
    ClientEndpoint.objects.all().delete()
    with pytest.raises(SubscriptionInUse):
        shared_subscriptions.share("news", busy={first.queue_id}, **red)
    anew = shared_subscriptions.share("news", **red)

    assert anew != first
    assert Subscription.objects.get() == anew


def test_nobody_unsubscribes_what_another_process_consumes(elsewhere: Owner) -> None:
    kept = subscriptions.subscribe(
        "news", durable=True, owner=processes.current(), **KEY
    )
    gets(elsewhere, kept.queue)

    with pytest.raises(SubscriptionInUse):
        subscriptions.unsubscribe(**KEY)
    elsewhere.delete()
    subscriptions.unsubscribe(**KEY)

    assert not Subscription.objects.exists()
