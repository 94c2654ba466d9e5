"""Reports through the API: the same as on their pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from broker.models import Act, AuditRecord
from broker.security import authorities
from dashboards.models import ReportRow, ReportRun
from tests.console.conftest import SignIn
from tests.console.principals import signed_in
from tests.dashboards.pages.sample_report import SAID, known, make_run
from tests.make import NOON

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/reports"
DAYS = f"{ROOT}/dead-letters"
ASKED = f"{ROOT}/what-if"
JSON = "application/json"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch)


def make_days(*queues: str, back: int = 0) -> None:
    at = timezone.now() - timedelta(days=back)
    cells = {"cause": "EXPIRED", "dead_letters": 3, "last_at": NOON.isoformat()}
    for n, queue in enumerate(queues, 1):
        ReportRow.objects.create(
            report="dead-letters", day=at.date(), n=n, cells=cells | {"queue": queue}
        )


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    return told


def post(client: Client, url: str, said: Any = None, **headers: str) -> Any:
    return client.post(url, said or {}, content_type=JSON, headers=headers)


def test_reports_are_listed_with_their_runs(sign_in: SignIn) -> None:
    ReportRun.objects.create(report="dead-letters", state="done", as_of=NOON, rows=7)
    told = sign_in("viewer").get(ROOT).json()["reports"]
    found = {one["slug"]: one for one in told}
    assert {"dead-letters", "throughput", "what-if"} <= found.keys()
    assert found["dead-letters"]["last_run"]["rows"] == 7
    assert found["dead-letters"]["next_run_at"]
    assert found["dead-letters"]["by_day"]
    assert not found["what-if"]["by_day"]


def test_a_report_says_what_it_is(sign_in: SignIn) -> None:
    told = sign_in("viewer").get(ASKED).json()
    assert told["question"] == "What would have been saved by other attempts?"
    assert [one["name"] for one in told["parameters"]] == [*SAID]
    assert told["parameters"][0]["most"] == 50
    assert told["parameters"][2]["default"] == "2026-03-01"
    assert {"name": "kept", "type": "share", "title": "Kept", "unit": "",
            "note": "of all that was tried"} in told["columns"]  # fmt: skip


def test_rows_come_in_pages_that_miss_none(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    make_days("a", "b", "c")
    make_days("d", "e", back=1)
    make_days("f", back=6)
    make_days("old", back=7)
    seen: list[str] = []
    after = ""
    while True:
        page = {"days": "7", "limit": "2", "after": after}
        told = client.get(f"{DAYS}/rows", page).json()
        seen += [row["queue"] for row in told["rows"]]
        after = told["next"]
        if not after:
            break
    assert seen == ["a", "b", "c", "d", "e", "f"]
    (row,) = client.get(f"{DAYS}/rows", {"queue": "d"}).json()["rows"]
    assert row["day"] == str((timezone.now() - timedelta(days=1)).date())
    assert row["dead_letters"] == 3


def test_rows_of_a_run_are_its_own(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    old = make_run({"tries": 1}, {"tries": 2})
    make_run({"tries": 3, "waited": None})
    (row,) = client.get(f"{ASKED}/rows").json()["rows"]
    assert (row["tries"], row["waited"], row["at"]) == (3, None, "2026-03-01T02:03:04Z")
    told = client.get(f"{ASKED}/rows", {"run": old.pk, "limit": 1}).json()
    assert [one["tries"] for one in told["rows"]] == [1]
    told = client.get(
        f"{ASKED}/rows", {"run": old.pk, "limit": 1, "after": told["next"]}
    ).json()
    assert [one["tries"] for one in told["rows"]] == [2]
    assert told["next"] is None
    problem(client.get(f"{ASKED}/rows", {"run": 987}), 404)


@pytest.mark.parametrize("after", ["x", "1.1", "9999-99-99.1.1", "-.1.1", "a.b.c"])
def test_a_cursor_that_is_none_is_refused(sign_in: SignIn, after: str) -> None:
    answer = sign_in("viewer").get(f"{DAYS}/rows", {"after": after})
    assert problem(answer, 422)["code"] == "invalid-request"


def test_a_run_is_asked_for_and_cancelled(sign_in: SignIn) -> None:
    client = sign_in("operator")
    wish = {"parameters": {"attempts": 9, "since": "2026-04-01"}}

    told = post(client, f"{ASKED}/runs", wish).json()

    assert told["state"] == "waiting"
    assert told["parameters"] == SAID | {"attempts": 9, "since": "2026-04-01"}
    assert post(client, f"{ASKED}/runs", wish).json()["id"] == told["id"]
    url = f"{ASKED}/runs/{told['id']}"
    assert client.get(url).json()["state"] == "waiting"
    assert [one["id"] for one in client.get(f"{ASKED}/runs").json()["runs"]] == [
        told["id"]
    ]
    assert post(client, f"{url}/cancel").json()["state"] == "cancelled"
    assert post(client, f"{url}/cancel").json()["state"] == "cancelled"
    assert AuditRecord.objects.filter(act=Act.CANCEL_REPORT).count() == 1


def test_a_key_asks_once(sign_in: SignIn) -> None:
    client = sign_in("operator")
    first = post(client, f"{DAYS}/runs", **{"Idempotency-Key": "k"})
    again = post(client, f"{DAYS}/runs", **{"Idempotency-Key": "k"})
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert AuditRecord.objects.filter(act=Act.RUN_REPORT).count() == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"attempts": 0}, "Attempts is at least 1."),
        ({"attempts": "many"}, "Attempts is not a count: 'many'."),
        ({"attempts": [1]}, "Attempts is not a count: [1]."),
        ({"weather": 1}, "There is no parameter weather."),
        ({"since": "soon"}, "Since is not a day: 'soon'."),
        ({"mode": "x"}, "Mode is one of fixed, growing."),
    ],
)
def test_parameters_are_held_to_the_declaration(
    sign_in: SignIn, said: dict[str, Any], told: str
) -> None:
    answer = post(sign_in("operator"), f"{ASKED}/runs", {"parameters": said})
    assert told in problem(answer, 422)["detail"]


def test_who_may_only_read_runs_and_cancels_nothing(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    run = make_run(state="waiting")
    problem(post(client, f"{ASKED}/runs"), 403)
    problem(post(client, f"{ASKED}/runs/{run.pk}/cancel"), 403)
    problem(client.get(f"{DAYS}/runs/{run.pk}"), 404)
    problem(client.get(f"{ROOT}/weather"), 404)


def test_rows_of_queues_that_one_may_not_inquire_are_not_told() -> None:
    rights = ("dashboards.view_report", "dashboards.run_report")
    noor = signed_in("noor", rights, authorities.ALL, pattern="eu.#").client()
    make_days("us.secret", "eu.open")
    checks = [{"claim": "all is counted", "found": 2, "expected": 2, "times": 1}]
    run = make_run({"queue": "us.secret"}, {"queue": "eu.open"}, checks=checks)
    named = make_run(parameters=SAID | {"queue": "us.secret"})

    for url in (DAYS, ASKED):
        told = noor.get(f"{url}/rows").json()["rows"]
        assert [one["queue"] for one in told] == ["eu.open"]
    assert noor.get(f"{ASKED}/runs/{run.pk}").json()["checks"] == []  # of all queues
    vera = signed_in("vera", rights, authorities.ALL).client()
    assert vera.get(f"{ASKED}/runs/{run.pk}").json()["checks"] == checks
    assert noor.get(f"{DAYS}/rows", {"queue": "us.secret"}).json()["rows"] == []
    problem(noor.get(f"{ASKED}/runs/{named.pk}"), 404)
    problem(noor.get(f"{ASKED}/rows", {"run": named.pk}), 404)
    said = {"parameters": {"queue": "us.secret"}}
    hidden = problem(post(noor, f"{ASKED}/runs", said), 422)["detail"]
    said = {"parameters": {"queue": "us.nowhere"}}
    absent = problem(post(noor, f"{ASKED}/runs", said), 422)["detail"]
    assert hidden == absent.replace("nowhere", "secret")
