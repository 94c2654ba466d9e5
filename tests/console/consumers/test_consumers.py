"""The page of consumers: what runs, what stopped, and how it is started again."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.models import Act, Queue, Stoppage
from broker.models import ConnectionConsumer as Row
from broker.queueing import processes
from broker.queueing.put import put
from dashboards.live import depths, problems
from tests.broker.handling import Seen, broken, handler, session, stopped
from tests.console.conftest import SignIn
from tests.console.recorded import deeds
from tests.make import make_authority, make_queue, make_user

pytestmark = pytest.mark.django_db

DLQ = configured.BROKER_DEAD_LETTER_QUEUE
HOSTILE = "<script>x</script>\u202e"


def page(client: Client, url: str = "") -> str:
    answer = client.get(url or reverse("console:consumers"))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def start(client: Client, queue: str = "orders") -> tuple[int, str]:
    url = reverse("console:start_delivery", args=[queue])
    answer = client.post(url, follow=True)
    return answer.status_code, text(html.unescape(answer.content.decode()))


def test_every_connection_consumer_is_shown_with_its_process(sign_in: SignIn) -> None:
    processes.resign()  # another test may have registered as another kind
    make_queue("orders")
    make_queue("invoices")
    one = handler(Seen(), selector="size > 5", concurrency=3, retain_unwanted=False)
    ConnectionConsumer.open(one)
    ConnectionConsumer.open(handler(Seen(), queue="invoices"))

    shown = text(page(sign_in("viewer")))

    assert "size > 5 are dead-lettered or discarded 3" in shown
    assert "every message stay on the queue 1" in shown
    assert one.name in shown
    assert f"application {processes._current and processes._current.pid} on" in shown
    assert "running" in shown
    assert "Start delivery again" not in shown


def test_one_that_is_always_busy_could_take_more_sessions(sign_in: SignIn) -> None:
    make_queue("orders")
    ConnectionConsumer.open(handler(Seen()))
    client, expected = sign_in("viewer"), "it could take more sessions"
    for percent in (None, 94, 95, 100):
        Row.objects.update(busy_percent=percent)

        shown = text(page(client))
        (row,) = client.get("/api/v1/consumers").json()["running"]

        assert row["busy_percent"] == percent
        assert ("–" if percent is None else f"{percent} %") in shown
        assert (expected in shown) is (percent is not None and percent >= 95)
    queue = text(page(client, reverse("console:queue", args=["orders"])))
    assert "1 at once, 100 % busy" in queue


def test_an_empty_page_says_what_would_be_there(sign_in: SignIn) -> None:
    assert "No ConnectionConsumer runs." in text(page(sign_in("viewer")))


@pytest.mark.spec("ASF-11")
def test_a_stopped_queue_says_why_and_what_to_do(sign_in: SignIn) -> None:
    server = stopped()
    put("orders")

    shown = page(sign_in("operator"))

    words = text(shown)
    assert "Delivery from orders has stopped" in words
    assert f"There is no queue '{DLQ}'" in words
    assert "2085 UNKNOWN_OBJECT_NAME" in words
    assert "where 2 messages in total wait" in words
    assert f"Create the queue {DLQ}" in words
    assert "Start delivery again" in words
    assert "delivery stopped" in words
    message_id = Stoppage.objects.get().message_id
    assert reverse("console:message", args=[message_id]) in shown
    assert server.consumer.handler.name in words


@pytest.mark.spec("ASF-11")
@pytest.mark.parametrize(
    ("dlq", "remedy"),
    [
        ({"max_depth": 0}, "Make room on"),
        ({"put_inhibited": True}, "Allow puts on"),
        ({"max_message_bytes": 171}, "take larger messages"),
    ],
)
def test_each_reason_has_its_remedy(
    sign_in: SignIn, dlq: dict[str, Any], remedy: str
) -> None:
    make_queue("orders")
    make_queue(DLQ, **dlq)
    broken()
    session(handler(Seen(), join=False)).serve()

    shown = page(sign_in("operator"))

    assert remedy in shown
    assert reverse("console:queue", args=[DLQ]) in shown


@pytest.mark.spec("ASF-11")
def test_a_stop_is_an_alarm_on_every_page(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    alarm = "Delivery has stopped from orders"
    assert alarm not in text(page(client, "/"))
    stopped()

    for name in ("queues", "dead_letters", "operations", "consumers"):
        shown = page(client, reverse(f"console:{name}"))
        assert alarm in text(shown)
        assert f'href="{reverse("console:consumers")}"' in shown
    assert "has stopped" in text(
        page(client, reverse("console:queue", args=["orders"]))
    )
    assert "delivery stopped" in text(page(client, "/"))
    assert "Delivery has stopped" in text(depths.sums(depths.queues()))


def test_one_is_not_alarmed_about_queues_that_one_may_not_see(client: Client) -> None:
    vera = make_user("vera", permissions=("broker.view_queue",), granted=())
    make_authority(vera, "inquire", pattern="invoices")
    client.force_login(vera)
    stopped()
    for url in ("/", reverse("console:consumers")):
        assert "orders" not in page(client, url)


@pytest.mark.spec("ASF-11")
def test_delivery_is_started_again_and_it_is_written_down_who_did(
    sign_in: SignIn,
) -> None:
    stopped()
    make_queue(DLQ)

    status, shown = start(sign_in("operator"))

    assert status == 200
    assert "Delivery from orders starts again." in shown
    assert "Earlier stoppages" in shown
    assert not Queue.objects.get(name="orders").stopped
    assert Stoppage.objects.get().cleared_by.get_username() == "operator"  # type: ignore[union-attr]
    (deed,) = deeds()
    assert (deed.act, deed.object_name) == (Act.START_DELIVERY, "orders")
    assert not Row.objects.exists()


@pytest.mark.spec("ASF-11")
def test_a_start_is_refused_while_the_cause_remains(sign_in: SignIn) -> None:
    stopped()

    status, shown = start(sign_in("operator"))

    assert status == 409
    assert "cannot start yet" in shown
    assert f"There is no queue '{DLQ}'" in shown
    assert Queue.objects.get(name="orders").stopped
    assert deeds() == []


def test_what_was_started_already_is_no_fault(sign_in: SignIn) -> None:
    make_queue("orders")
    status, shown = start(sign_in("operator"))
    assert (status, deeds()) == (200, [])
    assert "Delivery from orders is not stopped." in shown


@pytest.mark.parametrize("role", ["viewer", "narrow"])
def test_who_may_only_look_cannot_start(
    sign_in: SignIn, client: Client, role: str
) -> None:
    stopped()
    make_queue(DLQ)
    if role == "viewer":
        sign_in("viewer")
    else:
        permissions = ("broker.view_queue", "broker.pause_queue")
        omar = make_user(permissions=permissions, granted=("inquire",))
        client.force_login(omar)

    assert "You may see this, but not start delivery" in text(page(client))
    assert start(client)[0] == 403
    assert Queue.objects.get(name="orders").stopped


def test_to_start_is_a_deed(sign_in: SignIn) -> None:
    make_queue("orders")
    url = reverse("console:start_delivery", args=["orders"])
    assert sign_in("operator").get(url).status_code == 405
    nowhere = reverse("console:start_delivery", args=["nowhere"])
    assert sign_in("administrator").post(nowhere).status_code == 404


def test_what_others_have_written_is_shown_for_what_it_is(sign_in: SignIn) -> None:
    queue = make_queue(HOSTILE)
    Row.objects.create(
        owner_id=0, queue=queue, handler=HOSTILE, selector=HOSTILE, server_sessions=1
    )
    Stoppage.objects.create(queue=queue, message_id=1, reason=1, why=HOSTILE)
    shown = sign_in("operator").get(reverse("console:consumers")).content.decode()
    assert "<script>x" not in shown
    assert "\u202e" not in shown


def test_the_page_asks_as_much_for_many_as_for_one(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    ConnectionConsumer.open(handler(Seen(), queue=make_queue("0").name))
    page(client)
    cache.delete(
        problems.key("settings")
    )  # it is kept for seconds, which may end at any time
    with CaptureQueriesContext(connection) as one:
        page(client)
    for number in range(1, 10):
        name = make_queue(str(number)).name
        ConnectionConsumer.open(handler(Seen(), queue=name))
    cache.delete(problems.key("settings"))
    with CaptureQueriesContext(connection) as many:
        page(client)
    assert len(many) == len(one)
