"""Pages ask the broker what a person may do on each queue, besides their role."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.models import Authority, Operation, OperationItem, Queue
from broker.monitoring import dead_letter_queues, dead_letters
from broker.queueing.put import put
from broker.security import authorities
from broker.security.authorities import held_by
from console.accounts import roles
from dashboards.live import depths
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import PLAN, plan, url
from tests.make import make_authority, make_queue, make_setting, make_user

LACKS = "omar lacks the authority '{}' on queue '{}'."
NO_BODIES = "You can see counts but not message bodies."


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places()


@pytest.fixture
def omar(orders: Queue) -> User:
    """An operator who has no authority on any queue yet."""
    everything = tuple(roles.ROLES["operator"])
    return make_user("omar", permissions=everything, granted=())


@pytest.fixture
def console(omar: User, client: Client) -> Client:
    client.force_login(omar)
    return client


def may(user: User, pattern: str, *granted: authorities.Authority) -> None:
    Authority.objects.filter(user=user, pattern=pattern).delete()
    make_authority(user, *granted, pattern=pattern)


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return words(answer.content.decode())


def refused(client: Client, path: str, **fields: object) -> str:
    """What a page says that does not do what was asked."""
    answer = client.post(path, fields) if fields else client.get(path)
    assert answer.status_code == 403
    return words(answer.content.decode())


def queue_url(name: str, view: str = "queue") -> str:
    return reverse(f"console:{view}", args=[name])


def test_lists_have_the_queues_that_one_may_inquire(
    omar: User, console: Client
) -> None:
    make_queue("pay")
    may(omar, "orders", "inquire")

    html = console.get("/queues/").content.decode()
    every = ",".join(str(pk) for pk in Queue.objects.values_list("pk", flat=True))
    live = console.get("/depths/", {"shown": every}).content.decode()

    assert [queue.name for queue in depths.queues(user=omar)] == ["orders"]
    assert queue_url("orders") in html
    assert queue_url("pay") not in html
    assert queue_url("DLQ") not in html
    for name, is_seen in (("orders", True), ("pay", False), ("DLQ", False)):
        pk = Queue.objects.get(name=name).pk
        assert (f'"q{pk}-ready"' in live) == is_seen


def test_a_queue_that_one_may_not_inquire_has_no_page(
    omar: User, console: Client
) -> None:
    may(omar, "DLQ", *authorities.ALL)
    assert console.get(queue_url("orders")).status_code == 404

    may(omar, "orders", "inquire")

    text(console, queue_url("orders"))


def test_beginnings_of_bodies_are_for_those_who_may_browse(
    omar: User, console: Client
) -> None:
    put("orders", b"a secret")
    may(omar, "orders", "inquire")
    seen = text(console, queue_url("orders"))
    assert "a secret" not in seen
    assert "not their content" in seen

    may(omar, "orders", "inquire", "browse")

    assert "a secret" in text(console, queue_url("orders"))


def test_a_message_is_for_those_who_may_inquire_a_queue_where_it_is_or_was(
    omar: User, console: Client
) -> None:
    done, waiting = put("orders").message_id, put("orders").message_id
    attempt(limit=1)
    may(omar, "DLQ", *authorities.ALL)
    for one in (waiting, done):
        path = reverse("console:message", args=[one])
        assert console.get(path).status_code == 404

    may(omar, "orders", "inquire")

    for one in (waiting, done):
        assert NO_BODIES in text(console, reverse("console:message", args=[one]))


def test_a_body_is_for_those_who_may_browse_a_queue_where_it_is_or_was(
    omar: User, console: Client
) -> None:
    one = put("orders", b"a secret", properties={"colour": "blue"}).message_id
    page = reverse("console:message", args=[one])
    body = reverse("console:body", args=[one])
    may(omar, "orders", "inquire")
    seen = text(console, page)
    assert "a secret" not in seen
    assert "blue" not in seen
    assert "Download" not in seen
    assert LACKS.format("browse", "orders") in refused(console, body)

    may(omar, "orders", "inquire", "browse")

    assert "a secret" in text(console, page)
    assert console.get(body).content == b"a secret"


def test_what_lay_on_queues_that_are_gone_goes_by_its_address(
    omar: User, console: Client, orders: Queue
) -> None:
    one = put("orders", b"a secret").message_id
    orders.delete()
    may(omar, "DLQ", *authorities.ALL)
    path = reverse("console:message", args=[one])
    assert console.get(path).status_code == 404

    may(omar, "orders", "inquire")

    assert "a secret" not in text(console, path)


def test_dead_letters_are_those_on_queues_that_one_may_inquire(
    omar: User, console: Client
) -> None:
    here = die("ValueError: row 7 is bad")
    make_queue("buried")
    make_setting("bills", max_delivery_attempts=1, dead_letter_address="buried")
    make_queue("bills")
    put("bills")
    attempt("ValueError: row 8 is bad", queue="bills")
    may(omar, "DLQ", "inquire")

    seen = text(console, reverse("console:dead_letters"))
    group = reverse("console:dead_letter_group", args=[here.fingerprint])

    assert "orders" in seen
    assert "bills" not in seen
    ((letter, _),) = console.get(group).context["letters"]
    assert letter.message_id == here.message_id
    assert dead_letter_queues.count(held_by(omar)) == 1
    assert dead_letter_queues.count() == 2


def test_of_letters_that_one_may_not_see_there_is_not_even_the_error(
    omar: User, console: Client
) -> None:
    letter = die("ValueError: row 7 is bad")
    group = reverse("console:dead_letter_group", args=[letter.fingerprint])
    assert "is bad" not in console.get(group).content.decode()

    may(omar, "DLQ", "inquire")

    assert "is bad" in text(console, group)


@pytest.mark.parametrize(
    ("on", "to", "sentence"),
    [
        (["inquire", "get"], ["put"], ""),
        (["inquire"], ["put"], LACKS.format("get", "DLQ")),
        (["inquire", "get"], ["get"], LACKS.format("put", "orders")),
    ],
)
def test_resubmitting_needs_get_where_letters_lie_and_put_where_they_go(
    omar: User,
    console: Client,
    on: list[authorities.Authority],
    to: list[authorities.Authority],
    sentence: str,
) -> None:
    die()
    may(omar, "DLQ", *on)
    may(omar, "orders", *to)

    if sentence:
        assert sentence in refused(console, PLAN, queue="orders")
        assert not Operation.objects.exists()
        assert not OperationItem.objects.exists()
    else:
        console.post(url("start", plan(console)))
        assert not dead_letters.letters(ALL)


def test_what_is_resubmitted_is_what_was_seen(omar: User, console: Client) -> None:
    die()
    make_queue("buried")
    make_setting("bills", max_delivery_attempts=1, dead_letter_address="buried")
    make_queue("bills")
    put("bills")
    attempt("ValueError: row 8 is bad", queue="bills")
    may(omar, "DLQ", "inquire", "get")
    may(omar, "orders", "put")

    planned = plan(console)

    assert [item.target for item in planned.items.all()] == ["orders"]


def test_who_starts_an_operation_needs_what_it_does(
    omar: User, console: Client
) -> None:
    die()
    may(omar, "#", *authorities.ALL)
    planned = plan(console)
    may(omar, "#", "inquire")

    told = refused(console, url("start", planned), reason="mended")

    planned.refresh_from_db()
    assert LACKS.format("get", "DLQ") in told
    assert (planned.state, planned.reason) == (Operation.State.PLANNED, "")
    assert dead_letters.letters(ALL)


@pytest.mark.parametrize("view", ["pause", "resume"])
def test_pausing_needs_set_on_the_queue(
    omar: User, console: Client, orders: Queue, view: str
) -> None:
    Queue.objects.update(paused=view == "resume")
    path = queue_url("orders", view)
    may(omar, "orders", "inquire", "browse", "get", "put", "passall")
    assert path not in console.get(queue_url("orders")).content.decode()
    assert LACKS.format("set", "orders") in refused(console, path)
    refused(console, path, reason="Stock is counted.")
    orders.refresh_from_db()
    assert orders.paused == (view == "resume")

    may(omar, "orders", "inquire", "set")

    assert path in console.get(queue_url("orders")).content.decode()
    console.post(path)
    orders.refresh_from_db()
    assert orders.paused == (view == "pause")


def test_an_authority_does_not_stand_in_for_a_permission(
    client: Client, orders: Queue
) -> None:
    """Who may pause by program may not open the console's page for that."""
    client.force_login(make_user("vera", permissions=("broker.view_queue",)))

    page = client.get(queue_url("orders")).content.decode()

    assert client.post(queue_url("orders", "pause")).status_code == 403
    assert queue_url("orders", "pause") not in page


def test_what_one_may_not_do_with_a_queue_is_disabled_and_says_who_may(
    omar: User, console: Client
) -> None:
    may(omar, "orders", "inquire")
    html = re.sub("</?bdi>", "", console.get(queue_url("orders")).content.decode())
    forbidden = [
        ("pause", "To pause it, you need the authority “set” on it."),
        ("send", "To send, you need the authority “put” on orders."),
        ("settings", "Users with the role administrator may change them."),
        ("reset", "To reset them, you need the authority “set” on this queue."),
    ]
    for name, reason in forbidden:
        assert f'disabled aria-describedby="no-{name}"' in html
        assert f'id="no-{name}">{reason}</span>' in html
    for view in ("pause", "send", "reset_counters"):
        assert queue_url("orders", view) not in html

    may(omar, "orders", "inquire", "set", "put")
    html = console.get(queue_url("orders")).content.decode()

    for view in ("pause", "send", "reset_counters"):
        assert queue_url("orders", view) in html
    for name in ("pause", "send", "reset"):
        assert f"no-{name}" not in html


def test_without_the_permission_the_role_that_has_it_is_named(
    client: Client, orders: Queue
) -> None:
    client.force_login(make_user("vera", permissions=tuple(roles.VIEWER)))
    Queue.objects.filter(pk=orders.pk).update(paused=True)

    html = client.get(queue_url("orders")).content.decode()

    assert "Users with the role operator may resume it." in html
    assert "Users with the role operator may reset them." in html
    assert queue_url("orders", "resume") not in html
    message = reverse("console:message", args=[put("orders").message_id])
    page = client.get(message).content.decode()
    assert 'disabled aria-describedby="no-actions"' in page
    assert "Users with the role operator may repair, move, copy and remove it." in page
