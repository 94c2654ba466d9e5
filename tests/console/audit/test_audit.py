"""The page of the audit, its records, its files, and the same for programs."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from broker.models import Act, AuditCheck, AuditRecord
from broker.security import audit
from broker.security.audit import Thing
from console.audit import pages as view
from console.edges import permissions
from tests.broker.auditing import note
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue, make_user, plan_resubmit

pytestmark = pytest.mark.django_db

AUDIT = reverse("console:audit")
EXPORT = reverse("console:audit_export")
DOCUMENT = Path(__file__).parents[3] / "docs" / "audit.md"


def text(client: Client, path: str = AUDIT, **query: str) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200
    return words(answer.content.decode())


def rows(client: Client, **query: str) -> list[AuditRecord]:
    return list(client.get(AUDIT, query).context["rows"])


def test_records_are_shown_the_newest_first(sign_in: SignIn) -> None:
    client = sign_in("auditor")
    note("orders", reason="the bank is down")
    note("invoices")

    said = text(client)

    assert "paused a queue queue invoices done" in said.lower()
    assert said.index("invoices") < said.index("orders") < said.index("Signed in")
    assert "the bank is down" in said
    assert "on the command line" in said


def test_without_a_record_it_says_what_will_be_there(client: Client) -> None:
    client.force_login(make_user(permissions=(permissions.AUDIT,)))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM broker_audit")
    assert "Every change from now on is recorded here." in text(client)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"actor": "omar"}, {"orders", "refused"}),
        ({"actor": "oma"}, set()),
        ({"act": "queue.pause"}, {"orders", "invoices"}),
        ({"act": "queue"}, {"orders", "invoices", "resumed"}),
        ({"object": "orders"}, {"orders"}),
        ({"object": "queue:orders"}, {"orders"}),
        ({"object": "address:orders"}, set()),
        ({"object": "queue:7"}, {"orders", "invoices"}),
        ({"outcome": "refused"}, {"refused"}),
        ({"operation": "17"}, {"resumed"}),
        ({"since": "2026-01-01T00:00", "act": "queue.resume"}, {"resumed"}),
        ({"until": "2026-01-01T00:00"}, set()),
        ({"actor": "omar", "outcome": "done"}, {"orders"}),
    ],
)
def test_records_are_found_by_page_and_api(
    sign_in: SignIn, query: dict[str, str], found: set[str]
) -> None:
    client = sign_in("auditor")
    omar = make_user("omar")
    note("orders", by=omar)
    note("invoices")
    audit.record(Act.RESUME, Thing("queue", 8, "resumed"), operation=17)
    with audit.acting(lambda: audit.Actor.of(omar)):
        audit.refuse(Act.REACH, Thing("page", "", "refused"), reason="no")

    assert {one.object_name for one in rows(client, **query)} == found
    said = {key: f"{value}Z" if "T" in value else value for key, value in query.items()}
    told = client.get("/api/v1/audit", said).json()["records"]
    assert {one["object_name"] for one in told} == found


@pytest.mark.parametrize(
    "query", [{"after": "x"}, {"outcome": "maybe"}, {"since": "noon"}]
)
def test_what_nobody_gave_out_leads_to_the_first_page(
    sign_in: SignIn, query: dict[str, str]
) -> None:
    answer = sign_in("auditor").get(AUDIT, query)
    assert (answer.status_code, answer["Location"]) == (302, AUDIT)


def test_pages_go_on_and_back(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in("auditor")
    monkeypatch.setattr(view, "PAGE", 2)
    for name in ("one", "two", "three", "four", "five"):
        note(name)

    seen, query = [], "?act=queue.pause"
    while query:
        context = client.get(AUDIT + query).context
        seen += [one.object_name for one in context["rows"]]
        query = context["next"] or ""

    assert seen == ["five", "four", "three", "two", "one"]
    told = client.get("/api/v1/audit?act=queue.pause&limit=2").json()
    more = client.get(f"/api/v1/audit?act=queue.pause&after={told['next']}").json()
    assert [one["object_name"] for one in more["records"]] == ["three", "two", "one"]
    assert more["next"] is None


def test_one_record_has_what_was_before_and_after_and_its_operation(
    sign_in: SignIn,
) -> None:
    client = sign_in("administrator")
    make_places()
    die()
    plan = plan_resubmit(User.objects.get(), "all dead letters", reason="it is mended")
    one = AuditRecord.objects.latest("pk")
    path = reverse("console:audit_record", args=[one.pk])

    said = text(client, path)
    assert "it is mended" in said
    assert "all dead letters" in said
    link = f'href="{reverse("console:operation", args=[plan.pk])}"'
    assert link in client.get(path).content.decode()

    make_queue("payments")
    client.post(reverse("console:pause", args=["payments"]), {"reason": "why not"})
    one = AuditRecord.objects.latest("pk")
    said = text(client, reverse("console:audit_record", args=[one.pk]))
    assert "Before and after" in said
    assert "paused no yes" in said


def test_nothing_that_anybody_wrote_becomes_part_of_the_page(sign_in: SignIn) -> None:
    client = sign_in("auditor")
    audit.record(Act.PAUSE, Thing("queue", 1, EVIL), reason=EVIL, detail={EVIL: EVIL})
    one = AuditRecord.objects.latest("pk")

    for path in (AUDIT, reverse("console:audit_record", args=[one.pk])):
        assert EVIL not in client.get(path).content.decode()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_the_audit_is_for_auditors_and_administrators(
    sign_in: SignIn, role: str
) -> None:
    note()
    one = AuditRecord.objects.latest("pk")
    client = sign_in(role)
    record = reverse("console:audit_record", args=[one.pk])
    for path in (AUDIT, EXPORT, record, "/api/v1/audit"):
        assert client.get(path).status_code == 403
    assert AUDIT not in client.get("/").content.decode()


def test_it_has_a_place_and_a_key(sign_in: SignIn) -> None:
    html = sign_in("auditor").get("/").content.decode()
    assert re.search(rf'href="{AUDIT}"[^>]*data-go="a"', html)


def test_the_state_of_the_chain_is_shown_here_and_under_health(
    sign_in: SignIn,
) -> None:
    client = sign_in("administrator")
    assert "has not been verified yet" in text(client)

    check = AuditCheck.objects.create(pk=1, number=12, hash="ab" * 32)
    assert f"12:{'ab' * 32}" in text(client)
    health = reverse("console:health")
    assert "broken" not in text(client, health)

    AuditCheck.objects.filter(pk=check.pk).update(fault="Record 13 is missing.")
    for path in (AUDIT, health):
        said = text(client, path)
        assert "The chain of records is broken after record 12." in said
        assert "Record 13 is missing." in said


def test_the_page_asks_a_fixed_number_of_questions(
    sign_in: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = sign_in("auditor")
    for number in range(30):
        note(f"queue {number}")
    client.get(AUDIT)
    with django_assert_num_queries(7):
        client.get(AUDIT)


def test_a_table_is_for_spreadsheets_and_harmless_to_them(sign_in: SignIn) -> None:
    client = sign_in("auditor")
    note("orders", reason="=HYPERLINK(1)")
    note("invoices")

    answer = client.get(EXPORT, {"object": "orders"})

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "audit.csv" in answer["Content-Disposition"]
    (one,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert (one["object_name"], one["reason"]) == ("orders", "'=HYPERLINK(1)")


def test_no_other_form_is_exported(sign_in: SignIn) -> None:
    answer = sign_in("auditor").get(EXPORT, {"format": "exe"})
    assert answer.status_code == 302


def test_somebody_else_can_verify_what_is_exported(sign_in: SignIn) -> None:
    """By the program that the document has, as it stands there."""
    client = sign_in("auditor")
    for number in range(5):
        note(f"Größe {number}", detail={"b": [1, "ü"], "a": {"x": None, "y": True}})
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS audit_is_chained IMMEDIATE")
    lines = client.get(EXPORT, {"format": "ndjson"}).content.decode()
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S)

    assert run(program, lines) == 0
    records = [json.loads(line) for line in lines.splitlines()]
    for field in ("reason", "actor", "object_id", "at"):
        wrong = [dict(one) for one in records]
        wrong[2][field] += "x"
        assert run(program, "\n".join(json.dumps(one) for one in wrong)) == 1
    del records[2]
    assert run(program, "\n".join(json.dumps(one) for one in records)) == 1


def run(program: str, lines: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", program], input=lines, text=True, capture_output=True
    )
    return done.returncode


def test_times_are_those_of_the_database(sign_in: SignIn) -> None:
    client = sign_in("auditor")
    note()
    told: dict[str, Any] = client.get("/api/v1/audit").json()["records"][0]
    at = datetime.fromisoformat(told["at"])
    assert abs(at - timezone.now()) < timedelta(minutes=5)
