"""Publishing: once a second, for everyone, and only what changed. And the rates."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.template import Template
from django.test.signals import template_rendered

from broker.models import Kind, Queue
from broker.monitoring import dead_letter_queues
from broker.queueing import journal
from broker.queueing.journal import Depth
from broker.queueing.put import put
from dashboards import duties
from dashboards.live import attention, depths, publisher, samples
from dashboards.tasks import publish_depths
from tests.make import NOON, make_queue, seconds


def done(put_so_far: int, accepted: int = 0, backed_out: int = 0) -> dict[int, Depth]:
    counts = {Kind.PUT: put_so_far, Kind.ACCEPT: accepted, Kind.BACK_OUT: backed_out}
    return {1: Depth(done=counts)}


@pytest.mark.usefixtures("redis")
def test_rates_compare_with_the_oldest_sample() -> None:
    samples.remember(done(100, 50, 7), now=NOON)
    samples.remember(done(115, 60, 8), now=NOON + seconds(3))

    rates = samples.rates(done(125, 70, 22), now=NOON + seconds(5))

    assert rates[1] == samples.Rates(arriving=5.0, accepted=4.0, backed_out=3.0)


@pytest.mark.usefixtures("redis")
def test_old_samples_make_room() -> None:
    for second in range(15):
        samples.remember(done(second * 2), now=NOON + seconds(second))

    rates = samples.rates(done(30), now=NOON + seconds(15))

    assert rates[1].arriving == 2.0


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("now", [NOON + seconds(0.1), NOON + seconds(60)])
def test_a_rate_over_no_time_or_long_ago_is_unknown(now: datetime) -> None:
    samples.remember(done(1), now=NOON)

    assert samples.rates(done(5), now=now)[1] == samples.Rates(None, None)


@pytest.mark.usefixtures("redis")
def test_a_queue_that_is_new_has_a_rate() -> None:
    samples.remember({}, now=NOON)

    rates = samples.rates(done(8), now=NOON + seconds(2))

    assert (rates[1].arriving, rates[2].arriving) == (4.0, 0.0)


def test_without_redis_depths_are_right_and_rates_unknown(orders: Queue) -> None:
    put("orders", b"one")

    (depth,) = depths.queues()

    assert (depth.ready, depth.arriving) == (1, None)


class Page:
    """What one open page is sent."""

    def __init__(self) -> None:
        self.layer = get_channel_layer()
        self.name = async_to_sync(self.layer.new_channel)()
        async_to_sync(self.layer.group_add)(depths.GROUP, self.name)
        publisher.note_page()

    def received(self, count: int) -> list[str]:
        """The first ``count`` parcels; waits for them."""
        return async_to_sync(self.receive)(count)

    async def receive(self, count: int) -> list[str]:
        messages = [await self.layer.receive(self.name) for _ in range(count)]
        assert {message["type"] for message in messages} == {"depths.changed"}
        return ["".join([*one["parts"].values(), one["sums"]]) for one in messages]


@pytest.mark.usefixtures("redis")
def test_what_changed_is_published_and_nothing_twice(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoices, page = make_queue("invoices"), Page()
    groups = [7, 7, 8]  # counted once each time: it is slow
    monkeypatch.setattr(attention, "count", lambda: groups.pop(0))

    publisher.publish(now=NOON)
    publisher.publish(now=NOON)  # nothing changed: nothing is sent
    put("orders", b"one")
    publisher.publish(now=NOON)

    everything, difference = page.received(2)
    assert f"q{invoices.pk}-ready" in everything
    assert f'data-slot="q{orders.pk}-ready" value="1"' in difference
    assert f"q{invoices.pk}-ready" not in difference
    assert re.findall(r'slot="groups".*value="(\d)"', everything + difference) == [
        "7",
        "8",
    ]


@pytest.mark.usefixtures("redis")
def test_of_many_changed_queues_the_others_follow_and_none_waits_for_ever(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "MOST", 1)
    bills, page = make_queue("bills"), Page()

    for _ in range(3):  # bills, orders though bills has changed again, and bills
        publisher.publish(now=NOON)
        put("bills", b"one")

    first, second, third = page.received(3)
    assert [f"q{bills.pk}-ready" in one for one in (first, second)] == [True, False]
    assert [f"q{orders.pk}-ready" in one for one in (first, second)] == [False, True]
    assert f'data-slot="q{bills.pk}-ready" value="2"' in third


@pytest.mark.usefixtures("redis")
def test_what_is_paused_is_told(orders: Queue) -> None:
    page = Page()

    publisher.publish(now=NOON)
    Queue.objects.update(paused=True)
    publisher.publish(now=NOON)

    assert "paused" in page.received(2)[1]


@pytest.mark.usefixtures("redis")
def test_publishing_leaves_no_trace_in_the_journal(orders: Queue) -> None:
    put("orders", b"one")
    before = journal.depths()

    publish_depths()

    assert journal.depths() == before


def test_the_queues_are_read_once_whatever_their_number(db: None) -> None:
    """Not once for each of them, to find backout queues."""
    for n in range(30):
        make_queue(f"q{n}", backout_queue="q7" if n == 3 else "")

    found = Queue.objects.filter(dead_letter_queues.takes_dead_letters())

    assert [one.name for one in found] == ["q7"]
    scans = re.findall(r"Seq Scan.*?loops=(\d+)", found.explain(analyze=True))
    assert set(scans) == {"1"}


@pytest.mark.usefixtures("redis")
def test_samples_far_apart_still_give_a_rate() -> None:
    for second in range(0, 60, 5):
        samples.remember(done(second * 2), now=NOON + seconds(second))

    rates = samples.rates(done(114), now=NOON + seconds(57))

    assert rates[1].arriving == 2.0


@pytest.mark.usefixtures("redis")
def test_without_an_open_page_numbers_are_published_every_five_seconds(
    orders: Queue,
) -> None:
    assert publisher.is_due(), "there is no sample yet"

    publish_depths()
    assert not publisher.is_due(), f"a sample of {orders} is new"

    samples.memory().expire(samples.KEY, samples.STALE_S - 5)
    assert publisher.is_due(), "it is five seconds old"


@pytest.mark.usefixtures("redis", "orders")
def test_a_dispatcher_publishes_as_seldom_as_a_worker_of_celery() -> None:
    (duty,) = duties.DUTIES
    assert duty.is_due()

    duty.run()

    assert not duty.is_due(), "no page is open, and a sample is new"


@pytest.mark.usefixtures("redis", "orders")
def test_without_an_open_page_nothing_is_rendered() -> None:
    rendered: list[str] = []

    def note(template: Template, **_: object) -> None:
        rendered.append(template.name or "")

    template_rendered.connect(note)
    publisher.publish(now=NOON)
    assert rendered == []

    publisher.note_page()
    put("orders", b"one")
    publisher.publish(now=NOON)
    assert "dashboards/_sums.html" in rendered


@pytest.mark.usefixtures("redis", "orders")
def test_with_an_open_page_numbers_are_published_every_second() -> None:
    publish_depths()

    publisher.note_page()

    assert publisher.is_due()
    assert 0 < samples.memory().ttl(publisher.WATCHED) <= publisher.WATCHED_S
