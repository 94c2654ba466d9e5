"""The pages of bridges: all links and how they do, and one link."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from broker.models import Act, Link, LinkState
from broker.queueing.put import put_many
from console.bridges import words as link_words
from tests.console.bridging import beat, fail, make_branch, make_link, stand
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_messages, make_queue, make_user

pytestmark = pytest.mark.django_db

ERROR = "stomp-east: nobody answers at stomp://mq-east.example:61613."
LIST = "/bridges/"
PAGE = "/bridges/shop/out/"


def got(client: Client, path: str = LIST) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def said(client: Client, path: str = LIST) -> str:
    return words(got(client, path))


def test_where_there_is_none_it_says_what_a_bridge_is(sign_in: SignIn) -> None:
    text = said(sign_in("viewer"))

    assert "There are no links." in text
    assert "A link carries messages from a queue or topic at one broker" in text
    assert "Users with the role administrator may make links." in text
    assert "No bridge process runs" not in text


def test_links_stand_by_bridge_and_failed_ones_first(sign_in: SignIn) -> None:
    stand(make_link("a"), "STARTED")
    stand(make_link("b", bridge="warehouse"), "PAUSED")
    fail(make_link("z", bridge="warehouse"), ERROR)

    text = said(sign_in("operator"))

    order = ["Failed: needs", "warehouse/z", "shop/a", "warehouse/b"]
    assert sorted(order, key=text.rindex) == order
    assert "1 failed, 1 running, 1 paused" in text
    assert f"{ERROR} now. Fix that, then start the link" in text


def test_a_link_says_whence_and_where_to_and_how_it_does(sign_in: SignIn) -> None:
    now = timezone.now()
    link = make_link(target_at="rabbitmq")
    ago = now - timedelta(minutes=2, seconds=5)
    stand(link, "STARTED", waiting=37, oldest_at=ago, last_transfer_at=ago)

    text = said(sign_in("viewer"))

    assert "queue orders here → queue orders.copy at rabbitmq-east (RabbitMQ)" in text
    assert "running" in text
    assert "37 oldest 2 min 5 s ago" in text
    assert "not told" not in text


def test_what_a_provider_does_not_tell_is_said(sign_in: SignIn) -> None:
    stand(make_link(source_at="stomp", target_at="this-broker"), "STARTED")
    stand(make_link("other"), "STARTED")

    text = said(sign_in("viewer"))

    assert "not told by this provider" in text
    assert "not asked yet" in text


def test_a_page_draws_the_way_with_a_count_at_each_step(sign_in: SignIn) -> None:
    link = make_link(transformer="eu-orders", transacted=True)
    counts = {"received": 1000, "duplicates": 1, "looped": 2, "expired": 3}
    counts |= {"transformed": 994, "not_transferred": 4, "branched": 5, "sent": 990}
    stand(link, "STARTED", dead=7, **counts)

    text = said(sign_in("viewer"), PAGE)

    steps = (
        "Source queue orders here See the queue",
        "Receive 1,000 received in a transaction 1 known already",
        "2 came back in a loop",
        "Check expiry what has expired is not sent 3 expired",
        "Transform 994 transformed reply-to removed; by a transformer"
        " 4 not transferred 5 branched off",
        "Tag off for this bridge",
        "Send 990 sent to the target",
        "Commit both ends at once",
        "Target queue orders.copy at stomp-east (STOMP)",
        "7 put on dead message queues in total",
    )
    assert " ".join(steps) in text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"target_at": "this-broker"}, "Once and only once, by one database"),
        ({"target_at": "backout"}, "Once and only once, by prepare and commit"),
        ({"target_at": "stomp"}, "Once and only once, by a marker queue"),
        ({"target_at": "rabbitmq"}, "None: it is transacted, and its provider"),
        ({"target_at": "rabbitmq", "transacted": False}, "At least once: after a"),
        ({"target_at": "kombu", "transacted": False}, "At least once, best effort: "),
        (
            {
                "source_at": "stomp",
                "target_at": "this-broker",
                "transacted": False,
                "duplicate_detection": True,
            },
            "At least once, and duplicates are recognised",
        ),
    ],
)
def test_what_a_link_guarantees_is_said(fields: dict[str, object], told: str) -> None:
    link = make_link(**fields)  # type: ignore[arg-type]

    assert link_words.guarantee_of(link).startswith(told)


def test_a_page_says_what_is_wrong_and_what_to_do(sign_in: SignIn) -> None:
    link = make_link()
    fail(link, ERROR)
    client = sign_in("operator")

    text = said(client, PAGE)
    assert "The link has failed: it stopped by itself, " in text
    assert f"{ERROR} Fix that, then start the link" in text
    assert "A link has failed: shop/out. Messages wait" in said(client, "/")

    stand(link, "STARTED", failures=17, wanted="STARTED")
    text = said(client, PAGE)
    assert "The link transfers nothing" in text
    assert "It failed 17 times in a row, and tries again by itself." in text

    stand(link, "STARTED", failures=0)
    assert ERROR not in said(client, PAGE)


def test_where_no_process_runs_links_it_is_said(sign_in: SignIn) -> None:
    make_link()
    client = sign_in("viewer")
    assert "No bridge process runs" in said(client)
    assert "No bridge process runs" in said(client, PAGE)

    beat()

    assert "No bridge process runs" not in said(client)


def test_a_link_whose_queue_one_may_not_see_is_not_there(client: Client) -> None:
    fail(make_link(), ERROR)
    permissions = ("broker.view_queue", "broker.view_link", "broker.operate_link")
    vera = make_user("vera", permissions=permissions, pattern="invoices")
    client.force_login(vera)

    assert "There are no links on the queues that you may see." in said(client)
    assert client.get(PAGE).status_code == 404
    assert client.post(f"{PAGE}start/").status_code == 404
    assert client.get("/bridges/shop/none/").status_code == 404
    assert "shop/out" not in said(client, "/")


def test_the_overview_names_links_that_need_somebody(sign_in: SignIn) -> None:
    long_ago = timezone.now() - timedelta(minutes=9)
    fail(make_link("broken"), ERROR)
    trouble = {"error": ERROR, "error_at": timezone.now(), "failures": 3}
    stand(make_link("tries"), "STARTED", started_at=long_ago, **trouble)
    stand(make_link("just-now"), "STARTED", started_at=timezone.now(), **trouble)
    make_branch(make_link("doubts"), began_at=long_ago)
    make_branch(make_link("commits"), "bk:8:1", began_at=timezone.now())

    html = got(sign_in("viewer"), "/")

    text = words(html)
    assert f"shop/broken stopped by itself: {ERROR}" in text
    assert f"shop/tries transfers nothing: {ERROR}" in text
    assert "shop/doubts: 1 transaction waits for the other broker." in text
    assert "just-now" not in text
    assert "commits" not in text
    assert reverse("console:link", args=["shop", "broken"]) in html


def test_one_goes_to_a_link_by_its_name(sign_in: SignIn, client: Client) -> None:
    make_link("orders-out")
    make_link("orders-in")

    answer = sign_in("viewer").get("/go/?q=orders-out")
    assert answer["Location"] == "/bridges/shop/orders-out/"
    assert "shop/orders-in link of a bridge" in said(client, "/go/?q=shop")
    client.force_login(make_user("vera", permissions=("broker.view_queue",)))
    assert "orders-in" not in said(client, "/go/?q=shop/orders")


def test_names_may_hold_what_urls_may_not(sign_in: SignIn) -> None:
    stand(make_link("50% of ~all~?", bridge="Käufe & Co."), "STARTED")
    client = sign_in("operator")
    link = Link.objects.get()

    path = reverse("console:link", args=[link.bridge.name, link.name])

    assert path in got(client)
    assert "Käufe &amp; Co./50% of ~all~?" in got(client, path)


def test_however_many_there_are_it_takes_as_many_queries(sign_in: SignIn) -> None:
    client = sign_in("operator")
    stand(make_link("one"), "STARTED")
    got(client)
    with CaptureQueriesContext(connection) as one:
        got(client)
    for number in range(30):
        fail(make_link(f"l{number}", bridge=f"b{number % 7}"), ERROR)

    with CaptureQueriesContext(connection) as many:
        text = said(client)

    assert len(many) == len(one) <= 20
    assert text.count(ERROR) == 30


def test_a_page_of_one_link_takes_few_queries(sign_in: SignIn) -> None:
    make_queue()
    put_many(make_messages(20))
    stand(make_link(transformer="eu"), "STARTED")
    client = sign_in("administrator")
    got(client, PAGE)

    with CaptureQueriesContext(connection) as asked:
        got(client, PAGE)

    assert len(asked) <= 32


def test_a_hundred_links_stand_on_a_page(sign_in: SignIn) -> None:
    for number in range(101):
        stand(make_link(f"l{number:03}"), "STOPPED")
    client = sign_in("viewer")

    assert "1–100 of 101 links" in said(client)
    text = said(client, f"{LIST}?page=2")
    assert "101–101 of 101 links" in text
    assert "shop/l100" in text
    assert "shop/l099" not in text


def test_every_state_and_act_has_its_words(sign_in: SignIn) -> None:
    link = make_link()
    for state in LinkState:
        assert link_words.chip_of(stand(link, state))[0] in link_words.CHIPS.values()
    acts = [Act.START_LINK, Act.PAUSE_LINK, Act.RESUME_LINK, Act.STOP_LINK]
    assert all(act.label.endswith("a link") for act in acts)
