"""Dead letters as pages: what is counted is what is listed and what is acted on."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from broker import operations
from broker.models import AddressSetting, Operation, Queue
from broker.monitoring import dead_letters
from broker.monitoring.dead_letters import Letter, Selection
from broker.queueing.put import put_many
from broker.transactions.scope import unit_of_work
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.console.poison import make_payments, poison, remove
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    make_user,
    plan_resubmit,
)

GROUPS = reverse("console:dead_letters")
PLAN = reverse("console:plan_resubmit")


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places()


def page(client: Client, url: str, **query: str) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def group_url(letter: Letter) -> str:
    return reverse("console:dead_letter_group", args=[letter.fingerprint])


def ids(html: str) -> list[int]:
    return [int(one) for one in re.findall(r'<tr id="m(\d+)"', html)]


def test_letters_with_one_error_are_one_group(sign_in: SignIn, orders: Queue) -> None:
    for number in range(3):
        die(f"ValueError: row {number} is bad")
    letter = die("KeyError: 'name'")
    order = plan_resubmit(make_user(), "one", message_id=letter.message_id)
    operations.start(order.pk)
    for _ in range(2):
        attempt("KeyError: 'name'")

    said = words(page(sign_in("operator"), GROUPS))

    assert "4 dead letters on queues, in 2 groups" in said
    assert (
        "ValueError: row {n} is bad delivery attempts used up orders on DLQ 3" in said
    )
    assert "resubmitted up to 1 time before" in said
    assert "Resubmit all 4…" in said
    assert "Resubmit 3…" in said


def test_no_dead_letters_is_good_news(sign_in: SignIn, orders: Queue) -> None:
    assert "No dead letters. Nothing to do here." in words(
        page(sign_in("viewer"), GROUPS)
    )


def test_a_filter_counts_lists_and_plans_the_same(
    sign_in: SignIn, orders: Queue
) -> None:
    make_queue("bills")
    make_setting("bills", max_delivery_attempts=1, dead_letter_address="DLA")
    put_many(make_messages(3, "bills"))
    for _ in range(3):
        attempt("ValueError: row 1 is bad", queue="bills")
    die("ValueError: row 2 is bad")
    client = sign_in("operator")

    html = page(client, GROUPS, queue="bills")
    client.post(PLAN, {"queue": "bills"})

    assert "3 of 4 dead letters" in words(html)
    assert "on DLQ 3" in words(html)
    assert html.count('<input type="hidden" name="queue" value="bills">') == 2
    assert Operation.objects.get().scope == "all dead letters of bills"
    assert Operation.objects.get().items.count() == 3
    assert "row 2" not in html
    assert "4 without this filter" in words(page(client, GROUPS, queue="none"))
    assert "1 of 4" not in words(page(client, GROUPS, cause="MAX_DELIVERY_ATTEMPTS"))


def test_a_group_lists_its_letters_and_each_leads_to_its_message(
    sign_in: SignIn, orders: Queue
) -> None:
    letters = [die(f"ValueError: row {number} is bad") for number in range(3)]
    die("KeyError: 'name'")
    client = sign_in("viewer")

    html = page(client, group_url(letters[0]), queue="orders")

    assert ids(html) == [letter.message_id for letter in reversed(letters)]
    for letter in letters:
        assert f'href="{reverse("console:message", args=[letter.message_id])}"' in html
        assert f">{letter.origin_id}</a></th>" in html, "its number in all its lives"
    assert "Messages 3" in words(html)


def test_a_large_group_has_pages_there_and_back(sign_in: SignIn, orders: Queue) -> None:
    AddressSetting.objects.update(max_delivery_attempts=1)
    put_many(make_messages(120))
    attempt("ValueError", limit=120)
    every = [letter.message_id for letter in dead_letters.letters(ALL, limit=200)]
    client = sign_in("viewer")
    url = group_url(dead_letters.letters(ALL, limit=1)[0])

    seen: list[list[int]] = []
    link: str | None = ""
    while link is not None:
        html = page(client, url + link)
        seen.append(ids(html))
        found = re.search(r'href="([^"]*)" rel="next"', html)
        link = found and found[1].replace("&amp;", "&")

    assert [len(part) for part in seen] == [50, 50, 20]
    assert [one for part in seen for one in part] == every
    back = re.search(r'href="([^"]*)" rel="prev"', html)
    assert back
    assert ids(page(client, url + back[1].replace("&amp;", "&"))) == seen[1]


def test_a_group_that_was_resubmitted_is_empty(sign_in: SignIn, orders: Queue) -> None:
    letter = die("KeyError: 'name'")
    order = plan_resubmit(make_user(), "all")
    operations.start(order.pk)

    said = words(page(sign_in("viewer"), group_url(letter)))

    assert "KeyError: {text}" in said
    assert "This group is empty" in said


def test_what_somebody_holds_is_not_on_the_list(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("viewer")

    with unit_of_work() as work:
        work.get("DLQ")
        assert "No dead letters." in words(page(client, GROUPS))


def test_errors_stay_text(sign_in: SignIn, orders: Queue) -> None:
    letter = die("\u202e" + EVIL + "\x07" + "x" * 2**20)
    client = sign_in("operator")

    for url in (GROUPS, group_url(letter)):
        html = page(client, url)
        assert "<script>alert" not in html
        assert "\u202e" not in html
        assert "<mark>[U+202E]</mark>" in html
        assert len(html) < 30_000


@pytest.mark.parametrize(
    "query",
    ["?on=x", "?on=99999999999", "?cause=BOREDOM", "?queue=%00", "?after=0"],
)
def test_a_query_that_nobody_gave_out_shows_everything(
    sign_in: SignIn, orders: Queue, query: str
) -> None:
    client = sign_in("viewer")
    group = reverse("console:dead_letter_group", args=["0" * 12])

    assert client.get(GROUPS + query, follow=True).redirect_chain == [(GROUPS, 302)]
    assert client.get(group + query, follow=True).redirect_chain == [(group, 302)]


def test_what_is_no_fingerprint_is_not_found(sign_in: SignIn, orders: Queue) -> None:
    client = sign_in("viewer")

    assert (
        client.get(reverse("console:dead_letter_group", args=["zz"])).status_code == 404
    )


@pytest.mark.usefixtures("badge_is_known")
def test_the_pages_ask_a_fixed_number_of_questions(
    sign_in: SignIn,
    orders: Queue,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    letter = die()
    make_queue("bills")
    make_setting("bills", max_delivery_attempts=1, dead_letter_address="DLA")
    put_many(make_messages(9, "bills"))
    for number in range(9):
        attempt("x" * number, queue="bills", now=NOON)
    client = sign_in("operator")

    for url in (GROUPS, group_url(letter)):
        with django_assert_max_num_queries(26):
            page(client, url)


def test_nobody_looks_without_the_permission(client: Client, orders: Queue) -> None:
    urls = (GROUPS, group_url(die()))

    assert [client.get(url).status_code for url in urls] == [302, 302]
    client.force_login(make_user())
    assert [client.get(url).status_code for url in urls] == [403, 403]


def test_a_viewer_sees_no_button_that_works(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("viewer")

    assert PLAN not in page(client, GROUPS)
    assert client.post(PLAN, {}).status_code == 403
    assert dead_letters.letters(Selection())


@pytest.mark.spec("UNIFY-5")
def test_what_consumers_moved_stands_beside_what_the_broker_moved(
    sign_in: SignIn,
) -> None:
    make_places(attempts=3)
    die(attempts=3)
    make_payments("payments.BOQ")
    poison()
    remove()
    poison()
    remove("")
    client = sign_in("operator")

    said = words(client.get(reverse("console:dead_letters")).content.decode())

    assert "delivery attempts used up orders on DLQ 1" in said
    assert "backout threshold reached payments on payments.BOQ 1" in said
    assert (
        "backout threshold reached · 2362 BACKOUT_THRESHOLD_REACHED payments"
        " on SYSTEM.DEAD.LETTER.QUEUE 1"
    ) in said
    assert said.count("ValueError: row {n} is bad") == 3


@pytest.mark.spec("UNIFY-5", "POISON-14")
def test_a_group_that_consumers_moved_names_the_code_of_each(sign_in: SignIn) -> None:
    make_payments("")
    poison()
    remove("NOT.THERE")
    letter = dead_letters.letters(ALL)[0]
    url = reverse("console:dead_letter_group", args=[letter.fingerprint])

    said = words(sign_in("operator").get(url).content.decode())

    assert letter.reason == 2085
    assert "payments: backout threshold reached, 2085 UNKNOWN_OBJECT_NAME" in said
    assert said.count("2085 UNKNOWN_OBJECT_NAME") == 3
