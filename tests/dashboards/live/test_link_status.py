"""How fast links carry, and which of them have failed."""

from __future__ import annotations

from datetime import datetime

import pytest
from pytest_django import DjangoAssertNumQueries

from broker.models import LinkState
from broker.security import authorities
from dashboards.live import depths, link_status, publisher
from tests.console.bridging import fail, make_link, stand
from tests.dashboards.live.test_publisher import Page
from tests.make import NOON, make_queue, seconds

pytestmark = pytest.mark.django_db
ERROR = "nobody answers"


@pytest.mark.usefixtures("redis")
def test_a_rate_compares_with_what_was_sent_a_minute_ago() -> None:
    link = make_link()
    for second in range(0, 70, 5):
        stand(link, "STARTED", sent=second * 10)
        link_status.remember(NOON + seconds(second))

    rates = link_status.rates({link.pk: 700}, NOON + seconds(70))

    assert rates == {link.pk: 10.0}


@pytest.mark.usefixtures("redis")
def test_one_sample_is_kept_for_five_seconds(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    stand(link := make_link(), "STARTED", sent=4)
    link_status.remember(NOON)
    with django_assert_num_queries(0):
        link_status.remember(NOON + seconds(4.9))

    assert link_status.rates({link.pk: 14}, NOON + seconds(5)) == {link.pk: 2.0}


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("now", [NOON + seconds(0.1), NOON + seconds(120)])
def test_over_no_time_or_too_long_it_is_unknown(now: datetime) -> None:
    link_status.remember(NOON)

    assert link_status.rates({1: 5}, now) == {1: None}


def test_without_redis_it_is_unknown() -> None:
    assert link_status.rates({1: 5}, NOON) == {1: None}


def test_a_link_has_failed_that_stopped_by_itself_with_an_error() -> None:
    fail(make_link("broken"), ERROR)
    fail(make_link("tried"), ERROR, wanted=LinkState.STOPPED, failures=6)
    fail(make_link("ordered"), ERROR, wanted=LinkState.STOPPED, failures=0)
    fail(make_link("off", enabled=False), ERROR)
    stand(make_link("at work"), "STARTED", error=ERROR, failures=2)
    stand(make_link("still"), "STOPPED")

    assert set(link_status.failed()) == {"shop/broken", "shop/tried"}


def test_it_is_told_to_those_who_may_inquire_its_queues() -> None:
    fail(make_link(source="orders"), ERROR)
    some, others = (
        authorities.GrantedAuthorities({"inquire": [one]})
        for one in ("orders", "invoices")
    )

    assert link_status.failed(some) == ["shop/out"]
    assert link_status.failed(others) == []
    assert "shop/out" in depths.sums([], held=some)
    assert "failed</strong>" not in depths.sums([], held=others)


@pytest.mark.usefixtures("redis")
def test_every_open_page_is_told_that_one_failed() -> None:
    link = make_link()
    stand(link, "STARTED")
    make_queue()
    page = Page()
    publisher.publish(NOON)

    fail(link, ERROR)
    publisher.publish(NOON)

    before, told = page.received(2)
    assert "failed</strong>" not in before
    assert "A link has failed</strong>: <bdi>shop/out</bdi>" in told
