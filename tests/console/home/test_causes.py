"""One cause is one row, and all pages count the same rows."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule
from broker.problems.problem import Name, Problem
from broker.queueing.put import put
from console.alerts.causes import rows_of
from console.home.needs import MOST
from tests.console.conftest import SignIn
from tests.console.home.test_overview import overview, rows
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import words
from tests.make import make_queue, minutes

pytestmark = pytest.mark.django_db


def letters(origin: str, *, value: int = 1, fingerprint: str = "abc") -> Problem:
    """New dead letters of a group."""
    return Problem(
        f"{origin} → DLQ {fingerprint}",
        f"{value} new of {origin}: it broke",
        value,
        ("DLQ",),
        origin,
        key=(fingerprint, origin, 1),
        fingerprint=fingerprint,
        name="it broke",
        condition=Name.GROWTH,
    )


def lying(count: int) -> Problem:
    """All dead letters on the queue."""
    return Problem("DLQ", f"{count} lie.", count, ("DLQ",), condition=Name.DEAD_LETTERS)


def test_a_group_with_letters_of_several_queues_is_one_row() -> None:
    named, *others = (letters(one, value=9) for one in ("orders", "a", "b", "c"))

    (row,) = rows_of([named, *others], [])

    assert "".join(row.parts) == "9 new of orders: it broke Also from a, b and 1 more."
    assert row.url == reverse("console:dead_letter_group", args=["abc"])
    (alone,) = rows_of([named], [])
    assert alone.url.endswith("?queue=orders&on=1")


@pytest.mark.parametrize(("lie", "counted"), [(3, 2), (4, 3)])
def test_a_queue_of_dead_letters_is_listed_for_older_letters(
    lie: int, counted: int
) -> None:
    new = [letters("orders", value=2), letters("orders", fingerprint="def")]

    assert len(rows_of([*new, lying(lie)], [])) == counted


@pytest.mark.parametrize(("groups", "counted"), [(1, 1), (2, 3)])
def test_an_alert_about_a_queue_of_dead_letters_goes_to_its_only_group(
    groups: int, counted: int
) -> None:
    new = [letters("orders", fingerprint=f"{number}") for number in range(groups)]
    alert = Alert(pk=1, condition=Name.DEAD_LETTERS, subject="DLQ", state="firing")

    found = rows_of([*new, lying(groups)], [alert])

    assert len(found) == counted
    assert [one.numbers for one in found if one.firing] == ["1"]


def test_of_many_the_worst_are_named_and_the_rest_counted(sign_in: SignIn) -> None:
    for number in range(MOST + 3):
        make_queue(f"q{number}", paused=True)
        put(f"q{number}")
    client = sign_in("viewer")

    said = words(overview(client))

    assert "3 more: 3 × paused" in said
    assert len(rows(client)) == MOST
    assert len(rows(client, "/alerts/")) == MOST + 3


BADGE = re.compile(r'count-dead">(\d+)<span class="visually-hidden"> needs? attention')


def numbers(client: Client) -> list[int]:
    """How many causes need attention: as Overview says it, lists it, and has it in the
    badge; and as Alerts has it in the badge, says it and lists it."""
    first, second = overview(client), client.get("/alerts/").content.decode()
    counts = [
        int(found)
        for html in (first, second)
        for found in (
            *BADGE.findall(html),
            *re.findall(r"(\d+) problems? needs? attention now", words(html)),
        )
    ]
    more = re.findall(r"(\d+) more\b", words(first))
    (listed,) = re.findall(r'aria-labelledby="now">.*?</section>', second, re.DOTALL)
    return [*counts, len(rows(client)) + sum(map(int, more)), listed.count("<li id=")]


def test_pages_and_the_badge_count_the_same_causes(sign_in: SignIn) -> None:
    make_places(attempts=1)
    for number in range(3):  # two rules ring for each of these groups
        for _ in range(2):
            die(f"ValueError: {'abc'[number]}", attempts=1, now=timezone.now())
    for number in range(MOST):
        make_queue(f"q{number}", paused=True)
        put(f"q{number}", now=timezone.now() - minutes(9))
    AlertRule.objects.all().delete()
    for condition in ("new_cause", "dead_letter_growth", "depth", "dead_letters"):
        AlertRule.objects.create(name=condition, condition=condition, threshold=2)
    evaluate()
    client = sign_in("operator")

    assert Alert.objects.count() > 6
    assert numbers(client) == [9] * 6  # a queue of dead letters has a rule too

    (first, *_) = rows(client)
    ids = re.findall(r'name="alerts" value="(\d+ \d+)"', first)
    client.post("/alerts/acknowledge/", {"alerts": ids})

    assert numbers(client) == [8] * 6
