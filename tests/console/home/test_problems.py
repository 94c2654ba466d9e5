"""What is wrong now is the same wherever it is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule
from broker.problems.conditions import table
from broker.problems.problem import Condition, Name
from broker.queueing import processes
from broker.queueing.put import put
from broker.security import authorities
from console.alerts.places import PAGES
from dashboards.live import problems
from dashboards.metrics import collector
from tests.console.bridging import fail, make_branch, make_link
from tests.console.commanding import refused, run, told
from tests.console.home.situations import SITUATIONS, Patch, ago, paused
from tests.console.second_factors.factors import give_app
from tests.make import (
    make_authority,
    make_queue,
    make_user,
)

TOKEN = "s3cret"
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "alerts.md"
Found = dict[str, int]  # how much, by subject


def test_every_condition_has_a_row_and_a_page() -> None:
    assert set(table()) == set(AlertRule.Condition.values) == set(SITUATIONS)
    assert {one.page for one in table().values()} == set(PAGES)
    for row in table().values():
        assert row.remedy.endswith(".")
        assert row.remedy[0].isupper()


def test_the_document_lists_every_condition_as_the_table_has_it() -> None:
    listed = re.findall(r"^\| `\w+` \|.* \|.* \|.* \|$", DOCUMENT.read_text(), re.M)

    assert listed == [
        f"| `{name}` | {row.when.format(count='*n*', time='*t*', within='*p*')}"
        f" | {threshold(row)} | {row.remedy} |"
        for name, row in table().items()
    ]


def threshold(row: Condition) -> str:
    if row.threshold is None:
        return "–"
    if "{time}" in row.when:
        return "*t*, a time"
    return "*n*, percent" if "%" in row.when else "*n*, messages"


def in_alerts(name: Name, rule: Mapping[str, Any]) -> Found:
    AlertRule.objects.all().delete()
    AlertRule.objects.create(name="rule", condition=name, **rule)
    evaluate()
    found = Alert.objects.filter(state=Alert.State.FIRING, condition=name)
    return dict(found.values_list("subject", "value"))


def in_overview(name: Name, client: Client) -> Found:
    """With the sentences on the page, each in one row with its alert, whose name leads
    to a page. Of one cause it shows the most urgent problem: that a group grows, not
    that its cause is new."""
    page = client.get("/")
    html = page.content.decode()
    shown = [
        one
        for one in page.context["found"].worst
        if name in {problem.condition for problem in one.problems}
    ]
    alerts = Alert.objects.filter(state=Alert.State.FIRING)
    assert [one.pk for row in shown for one in row.alerts] == [one.pk for one in alerts]
    for alert in alerts:  # it is on the page once
        assert html.count(f'name="alerts" value="{alert.pk}"') == 1
    for one in shown:
        (row,) = re.findall(rf'<li id="cause-{one.key}".*?</li>', html, re.DOTALL)
        before, called, after = one.parts
        assert (before + called + after).startswith(one.problem.text)
        link = re.escape(f'<a href="{escape(one.url)}">')
        assert re.findall(rf"{link}<bdi>(.*?)</bdi></a>", row) == [escape(called)]
        assert one.is_urgent
        assert client.get(one.url).status_code == 200
    found = [one for row in shown for one in row.problems if one.condition == name]
    return {one.subject: one.value for one in found}


def in_metrics(name: Name, client: Client) -> Found:
    cache.delete(collector.KEY)
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    samples = [
        sample
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
        if sample.labels.get("condition") == name
    ]
    found = {
        one.labels["subject"]: int(one.value)
        for one in samples
        if one.name == "backout_problem"
    }
    assert [one.value for one in samples if one.name == "backout_problems"] == [
        len(found)
    ]
    return found


def in_readiness(name: Name, client: Client) -> Found:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    every = client.get("/readyz?verbose", headers=headers).json()["problems"]
    return {one["subject"]: one["count"] for one in every if one["condition"] == name}


def in_status(name: Name) -> Found:
    every = [one for one in told("status")["wrong"] if one["condition"] == name]
    said = run("status")
    assert all(one["sentence"][:30] in said for one in every)
    return {one["subject"]: one["count"] for one in every}


def in_api(name: Name, client: Client) -> Found:
    """The command line lists the same, field by field."""
    every = client.get("/api/v1/problems").json()["problems"]
    assert [in_one_form(one) for one in told("problems")["problems"]] == [
        in_one_form(one) for one in every
    ]
    return {one["subject"]: one["count"] for one in every if one["condition"] == name}


def in_one_form(document: Mapping[str, Any]) -> dict[str, Any]:
    """REST writes milliseconds of a time, and the age of a message goes on."""
    since, is_age = document["since"], document["condition"] == Name.AGE
    at = since and datetime.fromisoformat(since).isoformat(timespec="milliseconds")
    goes_on = {"count": 0, "sentence": ""} if is_age else {}
    return {**document, "since": at, **goes_on}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.usefixtures("transactional_db")
def test_a_problem_is_the_same_at_every_door(
    name: Name, client: Client, settings: Settings, monkeypatch: Patch
) -> None:
    settings.BACKOUT_METRICS_TOKEN = TOKEN
    settings.BACKOUT_SECRET_KEYS = [Fernet.generate_key().decode()]
    ada = User.objects.create_superuser("ada")
    make_authority(ada, *authorities.ALL)
    give_app(ada)
    client.force_login(ada)
    processes.current("dispatcher")
    make_queue(settings.BROKER_DEAD_LETTER_QUEUE)
    one = SITUATIONS[name]
    one.make(monkeypatch)
    settings.BACKOUT_SECRET_KEYS = [Fernet.generate_key().decode()]

    found = in_alerts(name, one.rule)

    (subject,) = found
    (wanted,) = one.found
    begin, dots, _ = wanted.partition("…")
    assert subject.startswith(begin) if dots else subject == wanted
    if name == Name.AGE:
        assert one.found[wanted] <= found[subject] < one.found[wanted] + 300
    else:
        assert list(found.values()) == list(one.found.values())
    for told_here in (
        in_overview(name, client),
        in_metrics(name, client),
        in_readiness(name, client),
        in_status(name),
        in_api(name, client),
    ):
        close = name == Name.AGE  # seconds go on
        assert told_here.keys() == found.keys()
        assert close or told_here == found


@pytest.mark.django_db
def test_the_questions_do_not_grow_with_the_queues(monkeypatch: Patch) -> None:
    AlertRule.objects.all().delete()
    for name in (Name.AGE, Name.DEPTH):
        AlertRule.objects.create(name=name, condition=name, threshold=1)
    counts = []
    for many in (1, 20):
        for number in range(many):
            make_queue(f"q{many}.{number}", paused=number % 2 == 1)
            put(f"q{many}.{number}", now=ago(minutes=5))
            fail(make_link(f"{many}.{number}"), "refused")
            make_branch(make_link(f"{many}.d{number}"), f"{many}{number}",
                        began_at=ago(minutes=5))  # fmt: skip
        cache.clear()
        with CaptureQueriesContext(connection) as asked:
            found = problems.now()
        counts.append(len(asked))
        assert len(found) >= 3 * many

    assert counts[0] == counts[1] <= 45


@pytest.mark.usefixtures("transactional_db")
def test_one_is_told_of_the_queues_that_one_may_inquire(client: Client) -> None:
    for name in ("orders", "bills"):
        make_queue(name, paused=True)
        put(name)
    vera = make_user("vera", permissions=("broker.view_queue",), pattern="bills")
    make_user("nobody")
    client.force_login(vera)

    answer = client.get("/api/v1/problems")
    every, listed = answer.json()["problems"], run("problems", "--user", "vera")

    (found,) = (one for one in every if one["condition"] == "paused")
    assert "orders" not in answer.content.decode() + listed
    assert found == {
        "condition": "paused",
        "subject": "bills",
        "count": 1,
        "sentence": "bills: 1 wait until somebody resumes it.",
        "remedy": "Resume the queue when its consumers may go on.",
        "urgent": True,
        "since": None,
    }
    assert "bills: 1 wait" in listed
    assert refused("problems", "--user", "nobody")[0] == 1


def test_without_a_token_readiness_names_nobody(
    transactional_db: None, client: Client
) -> None:
    paused(Patch())

    answer = client.get("/readyz?verbose")
    away = client.get("/readyz?verbose", REMOTE_ADDR="10.1.2.3")

    assert {"condition": "paused", "problems": 1} in answer.json()["problems"]
    assert "orders" not in answer.content.decode()
    assert answer.json()["ready"]
    assert away.status_code == 403
