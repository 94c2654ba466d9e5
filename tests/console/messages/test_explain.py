"""Why a message is not being delivered, as its page says it; and a queue's counters."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import ConnectionConsumer, Queue, RoutingType
from broker.monitoring import counters
from broker.queueing import processes
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_messages, make_queue, make_user, minutes

QUESTION, OVER = "Why is it not being delivered?", "How it ended on each queue"


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places(attempts=3, delay_ms=30_000)


def read(client: Client, url: str) -> str:
    """What one reads of a page, on one line."""
    answer = client.get(url, follow=True)
    assert answer.status_code == 200
    html = answer.content.decode()
    main = html[html.index("<main") : html.index("</main")]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


def why(client: Client, message_id: int) -> str:
    """The section of a message's page; empty where there is none."""
    said = read(client, reverse("console:message", args=[message_id]))
    found = [one for one in (QUESTION, OVER) if one in said]
    return said[said.index(found[0]) : said.index("Attempts")] if found else ""


def consumer(queue: Queue, selector: str = "") -> ConnectionConsumer:
    return ConnectionConsumer.objects.create(
        owner_id=processes.current(),
        queue=queue,
        handler="shop.handle",
        selector=selector,
        server_sessions=1,
    )


def test_each_reason_is_a_sentence_with_what_to_do(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("operator")
    put("orders")
    message_id = put("orders").message_id
    Queue.objects.update(paused=True)

    said = why(client, message_id)

    assert "3 reasons, the one to solve first at the top" in said
    places = [
        said.index(part)
        for part in (
            "Queue orders is paused: it accepts messages and delivers none.",
            "What to do: Resume it under Queues.",
            "No consumer of orders is known.",
            "1 message stands before it on orders",
        )
    ]
    assert places == sorted(places)


@pytest.mark.spec("ADMIN-5")
def test_a_paused_queue_takes_and_ends_and_gives_only_when_resumed(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("operator")
    put("orders")
    work = UnitOfWork()
    (held,) = work.get("orders")
    client.post(reverse("console:pause", args=["orders"]), {"reason": "a release"})

    message_id = put("orders").message_id
    work.commit()

    assert UnitOfWork().get("orders") == []
    assert "Queue orders is paused" in why(client, message_id)
    assert why(client, held.message_id) == ""
    ended = read(client, reverse("console:message", args=[held.message_id]))
    assert "It was accepted on orders in attempt 1" in ended
    client.post(reverse("console:resume", args=["orders"]))
    assert "is paused" not in why(client, message_id)
    assert [one.message_id for one in UnitOfWork().get("orders")] == [message_id]


def test_what_is_in_hand_and_what_waits_say_since_and_until_when(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("operator")
    message_id = put("orders").message_id
    work = UnitOfWork(actor="shop.<b>handle")
    work.get("orders")

    said = why(client, message_id)
    assert f"A consumer of orders has it, in unit of work {work.id}." in said
    assert "By shop.<b>handle Held by" in said
    assert "Since" in said
    assert re.search(r"Until (?:[-\d]+ )?[\d:.]+ in \d m", said)

    work.back_out("ValueError: no")
    said = why(client, message_id)
    assert "It was backed out once. It waits on orders until it is due." in said
    assert re.search(r"Until (?:[-\d]+ )?[\d:.]+ in \d+ s", said)


def test_an_end_is_told_once_and_leads_to_the_message_it_became(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die(attempts=3)
    client = sign_in("operator")
    url = reverse("console:message", args=[letter.origin_id])
    url += f"?copy={letter.origin_id}"

    before = read(client, url)
    after = read(client, reverse("console:message", args=[letter.message_id]))

    assert QUESTION not in before
    assert before.count("The original has ended on orders: dead-lettered") == 1
    assert "It continues as copy 1" in before
    assert QUESTION not in after, "the top of the page says it"
    assert after.count("is a dead letter on DLQ") == 1
    html = client.get(url).content
    assert reverse("console:message", args=[letter.message_id]).encode() in html


def test_a_message_of_two_queues_has_an_end_on_each(sign_in: SignIn, db: None) -> None:
    for name in ("left", "right"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    message_id = put("news").message_id
    for name in ("left", "right"):
        with unit_of_work() as work:
            work.get(name)

    said = why(sign_in("operator"), message_id)

    assert said.startswith(OVER)
    assert "It was accepted on left." in said
    assert "It was accepted on right." in said


def test_what_is_written_in_a_selector_is_shown_for_what_it_is(
    sign_in: SignIn, orders: Queue
) -> None:
    consumer(orders, "colour = '<script>\u202e'")

    answer = sign_in("operator").get(
        reverse("console:message", args=[put("orders").message_id])
    )

    html = answer.content.decode()
    assert "&lt;script&gt;" in html
    assert "<script>\u202e" not in html
    assert "\u202e" not in html


def test_who_may_not_browse_the_queue_is_told_nothing(
    client: Client, orders: Queue
) -> None:
    message_id = put("orders").message_id
    user = make_user(permissions=("broker.view_queue",), granted=("inquire",))
    client.force_login(user)
    assert why(client, message_id) == ""

    user.authority_set.update(may_browse=True)

    assert "No consumer of orders is known." in why(client, message_id)


def test_a_dead_letter_is_shown_under_dead_letters(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die(attempts=3)
    client = sign_in("operator")

    assert here(client, letter.origin_id) == "Dead letters"
    assert here(client, letter.origin_id, copy=letter.origin_id) == "Queues"


def here(client: Client, message_id: int, **query: int) -> str:
    url = reverse("console:message", args=[message_id])
    html = client.get(url, query).content.decode()
    nav = html[html.index("<nav") :]
    marked = re.search(r'<a[^>]*aria-current="page"[^>]*>(.*?)</a>', nav, re.S)
    assert marked
    return " ".join(re.sub("<[^>]*>", " ", marked[1]).split()).rstrip("0123456789 ")


@pytest.mark.spec("ADMIN-6")
def test_a_queue_shows_its_counters_and_since_when_they_count(
    sign_in: SignIn, orders: Queue
) -> None:
    put_many(make_messages(3))
    with unit_of_work() as work:
        work.get("orders")
    counters.reset(orders, ["messages_added"], now=timezone.now() - minutes(5))

    said = read(sign_in("operator"), reverse("console:queue", args=["orders"]))

    assert "Messages added 0 put, copied or restored here " in said
    assert re.search(r"5 min( \d+ s)? ago", said)
    assert (
        "Messages acknowledged 1 accepted, and committed the queue was created" in said
    )
    assert "Message count 2 here now, in total now" in said
    assert "Reset all five…" in said


@pytest.mark.spec("ADMIN-6")
def test_a_reset_is_confirmed_and_written_down(sign_in: SignIn, orders: Queue) -> None:
    put_many(make_messages(3))
    client = sign_in("operator")
    url = reverse("console:reset_counters", args=["orders"])
    asked = client.get(url, {"counter": "messages_added"}).content.decode()
    assert re.findall(r'value="(\w+)" checked', asked) == ["messages_added"]
    assert "Messages added: 3" in asked
    assert counters.read_counters(orders.pk)[1] == {}

    answer = client.post(
        url, {"counters": ["messages_added"], "reason": "new month"}, follow=True
    )

    assert "Counters of orders are reset: messages added." in answer.content.decode()
    assert counters.read_counters(orders.pk)[0].messages_added == 0
    (deed,) = deeds()
    assert (deed.object_id, deed.reason) == (str(orders.pk), "new month")
    assert deed.details["changed"] == {"messages_added": {"before": 3, "after": 0}}


def test_a_reset_of_nothing_is_refused_in_place(sign_in: SignIn, orders: Queue) -> None:
    url = reverse("console:reset_counters", args=["orders"])

    answer = sign_in("operator").post(url, {"reason": "?"})

    assert answer.status_code == 422
    assert "Choose at least one counter." in answer.content.decode()


def test_who_may_not_set_the_queue_is_offered_no_reset(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("viewer")
    url = reverse("console:reset_counters", args=["orders"])

    assert "Reset…" not in read(client, reverse("console:queue", args=["orders"]))
    assert client.post(url, {"counters": ["messages_added"]}).status_code == 403
    assert counters.read_counters(orders.pk)[1] == {}


def test_a_reset_needs_the_authority_to_set_that_queue(
    client: Client, orders: Queue
) -> None:
    permissions = ("broker.view_queue", "broker.pause_queue")
    client.force_login(make_user(permissions=permissions, granted=("inquire",)))
    url = reverse("console:reset_counters", args=["orders"])

    for answer in (client.get(url), client.post(url, {"counters": ["messages_added"]})):
        assert answer.status_code == 403
        assert "lacks the authority" in answer.content.decode()

    assert counters.read_counters(orders.pk)[1] == {}
