"""The numbers that Prometheus reads: true, bounded, named as the documents say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries

from broker.models import (
    Branch,
    ClientConnection,
    ClientEndpoint,
    ConnectionConsumer,
    LinkState,
    LinkStatus,
    Queue,
)
from broker.queueing import processes
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from dashboards.metrics import bridge_links, collector
from tests.broker.bridges.configured_links import make_link
from tests.console.letters import die, make_places
from tests.make import make_messages, make_queue, make_user, plan_resubmit

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
Labels = tuple[tuple[str, str], ...]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    cache.delete(collector.KEY)
    yield
    cache.delete(collector.KEY)


def scrape() -> dict[str, dict[Labels, float]]:
    """Every value, by name and labels."""
    cache.delete(collector.KEY)
    values: dict[str, dict[Labels, float]] = {}
    text = collector.exposition().decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            values.setdefault(sample.name, {})[labels] = sample.value
    return values


def of(name: str, **labels: str) -> float:
    return scrape()[name][tuple(sorted(labels.items()))]


def test_messages_are_counted_where_they_are() -> None:
    make_queue("orders")
    put_many(make_messages(3))
    put("orders", deliver_at=timezone.now() + timedelta(hours=1))
    UnitOfWork().get("orders")

    found = scrape()["backout_queue_messages"]

    assert {dict(labels)["state"]: number for labels, number in found.items()} == {
        "ready": 2,
        "in_flight": 1,
        "delayed": 1,
    }


def test_what_was_done_is_counted_by_the_journal_and_never_falls() -> None:
    make_queue("orders")
    put_many(make_messages(3))
    work = UnitOfWork()
    work.get("orders", limit=2)
    work.commit()

    for event, number in {"put": 3, "got": 2, "accepted": 2, "backed_out": 0}.items():
        assert of("backout_queue_events_total", queue="orders", event=event) == number


def test_dead_letters_are_told_of_queues_that_take_them() -> None:
    make_places(attempts=1)
    die(attempts=1)

    found = scrape()

    assert found["backout_queue_dead_letters"] == {(("queue", "DLQ"),): 1}
    events = found["backout_queue_events_total"]
    assert events[(("event", "dead_lettered"), ("queue", "orders"))] == 1


def test_the_message_that_stands_first_has_an_age() -> None:
    make_queue("orders")
    make_queue("empty")
    hour_ago = timezone.now() - timedelta(hours=1)
    put_many([NewMessage("orders", priority=1)], now=hour_ago)
    put_many([NewMessage("orders", priority=9)])

    name = "backout_queue_oldest_message_age_seconds"
    assert 3600 <= of(name, queue="orders") < 3700
    assert of(name, queue="empty") == 0


def test_what_came_back_is_as_old_as_it_was() -> None:
    make_queue("orders")
    put_many([NewMessage("orders")], now=timezone.now() - timedelta(hours=1))
    work = UnitOfWork()
    work.get("orders")
    work.back_out(BackOut("no", at_once=True))
    put("orders")

    age_s = of("backout_queue_oldest_message_age_seconds", queue="orders")
    assert 3600 <= age_s < 3700


def test_what_is_late_is_told_in_seconds() -> None:
    make_queue("orders")
    assert of("backout_delayed_lateness_seconds") == 0

    now = timezone.now()
    put("orders", deliver_at=now - timedelta(minutes=1), now=now - timedelta(hours=1))

    assert 60 <= of("backout_delayed_lateness_seconds") < 160
    assert 3600 <= of("backout_journal_lag_seconds") < 3700


def test_what_is_under_way_is_counted() -> None:
    make_places(attempts=1)
    die(attempts=1)
    plan_resubmit(make_user(), "all dead letters")
    put("orders")
    UnitOfWork().get("orders")

    found = scrape()

    assert found["backout_operations"][(("state", "planned"),)] == 1
    assert found["backout_units_of_work"][(("state", "open"),)] == 1
    assert found["backout_unit_of_work_oldest_age_seconds"][()] < 100
    assert sum(found["backout_processes"].values()) >= 1


def test_clients_are_counted_by_what_they_have_open() -> None:
    queue = make_queue("orders")
    connection = ClientConnection.objects.create(
        owner_id=processes.current(), container_id="shop", host="", is_encrypted=False
    )
    for kind, on in (("gets", queue), ("puts", None)):
        ClientEndpoint.objects.create(
            connection=connection, session=0, name=kind, kind=kind, node="o", queue=on
        )
    for sessions, percent in ((3, 100), (1, 20), (5, None)):
        ConnectionConsumer.objects.create(
            owner_id=1, queue=queue, server_sessions=sessions, busy_percent=percent
        )

    found = scrape()

    assert found["backout_connections"][()] == 1
    assert found["backout_endpoints"][(("kind", "puts"),)] == 1
    assert found["backout_endpoints"][(("kind", "browses"),)] == 0
    assert found["backout_queue_consumers"] == {(("queue", "orders"),): 1}
    (busy,) = found["backout_consumers_busy_ratio"].items()
    assert busy == ((("kind", "handler"), ("queue", "orders")), 0.8)


def test_a_queue_of_any_name_is_one_label() -> None:
    name = 'a"b\\c\nd{x="1"} 5 # é'
    make_queue(name)
    Queue.objects.update(paused=True)

    assert scrape()["backout_queue_paused"] == {(("queue", name),): 1}


def test_a_scrape_asks_as_often_however_many_queues_there_are(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(20):
        make_queue(f"q{number}")
        put(f"q{number}")

    with django_assert_max_num_queries(40):
        collector.exposition()


def test_scrapes_within_a_second_are_one(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    first = collector.exposition()

    with django_assert_num_queries(0):
        assert collector.exposition() == first


def test_queues_beyond_the_most_have_no_series(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "MOST_QUEUES", 2)
    for name in ("a", "b", "c"):
        make_queue(name)

    found = scrape()

    assert len(found["backout_queue_paused"]) == 2
    assert found["backout_queues"][()] == 3


def test_where_there_is_no_link_nothing_is_told_of_links() -> None:
    assert b"backout_link" not in collector.exposition()


def test_a_link_is_told_by_bridge_and_name() -> None:
    now = timezone.now()
    link = make_link("shop", "orders-out")
    make_link("shop", "never-started")
    LinkStatus.objects.create(
        link=link, state=LinkState.STARTED, failures=2, waiting=5, received=12, sent=7,
        oldest_at=now - timedelta(minutes=3), last_transfer_at=now - timedelta(hours=1),
        branched=1, transformed=4, not_transferred=2, expired=3, dead=6, duplicates=8,
        looped=9,
    )  # fmt: skip
    Branch.objects.create(xid="x", link=link, kind="decided", messages=1, began_at=now)
    which = {"bridge": "shop", "link": "orders-out"}
    counts = {"received": 12, "sent": 7, "branched": 1, "transformed": 4,
              "not_transferred": 2, "expired": 3, "dead": 6, "duplicates": 8,
              "looped": 9}  # fmt: skip

    assert of("backout_link_state", **which, state="started") == 1
    found = {name: of(f"backout_link_{name}_total", **which) for name in counts}
    assert found == counts
    assert of("backout_link_consecutive_failures", **which) == 2
    assert of("backout_link_waiting_messages", **which) == 5
    assert 180 <= of("backout_link_oldest_message_age_seconds", **which) < 280
    assert 3600 <= of("backout_link_last_transfer_age_seconds", **which) < 3700
    assert of("backout_link_branches_in_doubt", **which) == 1


def test_what_is_not_known_of_a_link_has_no_series() -> None:
    make_link()
    which = (("bridge", "shop"), ("link", "orders-out"))

    found = scrape()

    assert found["backout_link_state"] == {(*which, ("state", "uninitialized")): 1}
    assert found["backout_link_sent_total"] == {which: 0}
    for name in ("waiting_messages", "oldest_message_age_seconds",
                 "last_transfer_age_seconds"):  # fmt: skip
        assert f"backout_link_{name}" not in found


def test_where_nothing_waits_the_oldest_is_of_no_age() -> None:
    LinkStatus.objects.create(link=make_link(), waiting=0)
    which = {"bridge": "shop", "link": "orders-out"}

    assert of("backout_link_oldest_message_age_seconds", **which) == 0


def test_links_of_any_number_are_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(10):
        make_link(name=f"link {number}")

    with django_assert_num_queries(1):
        assert len(list(bridge_links.of_links())) == len(bridge_links.FAMILIES)


def test_what_is_told_is_what_is_listed() -> None:
    make_places(attempts=1)
    make_queue("none")
    make_link()
    text = collector.exposition().decode()

    told = re.findall(r"^# TYPE (\S+)", text, re.M)

    assert sorted(told) == sorted(one.name for one in collector.FAMILIES)
    assert all(one.name.startswith("backout_") for one in collector.FAMILIES)


def test_the_document_lists_every_metric() -> None:
    listed = re.findall(r"^\| `(backout_\w+)", (DOCS / "metrics.md").read_text(), re.M)

    assert sorted(listed) == sorted(one.name for one in collector.FAMILIES)


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DOCS / "grafana.json").read_text())
    asked = list(expressions(dashboard))
    names = {name for one in asked for name in re.findall(r"\bbackout_\w+", one)}
    labels = {label for one in asked for label in re.findall(r"(\w+)=~?\"", one)} | {
        by
        for one in asked
        for several in re.findall(r"by \(([\w, ]+)\)", one)
        for by in several.split(", ")
    }

    assert len(dashboard["panels"]) >= 8
    assert names <= {one.name for one in collector.FAMILIES}
    assert {"backout_queue_messages", "backout_queue_dead_letters"} <= names
    assert labels <= {label for one in collector.FAMILIES for label in one.labels}


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    dashboard = json.loads((DOCS / "grafana.json").read_text())
    places = [
        (x, y)
        for panel in dashboard["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    ids = [panel["id"] for panel in dashboard["panels"]]

    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24
    assert len(set(ids)) == len(ids)


def expressions(part: Any) -> Iterator[str]:
    """All that a dashboard asks of Prometheus, also to fill its variables."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name in ("expr", "query", "definition") and isinstance(value, str):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(part, list):
        for one in part:
            yield from expressions(one)
