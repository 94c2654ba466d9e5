"""What properties say is told to who may read them: on pages, in files, by the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from broker.models import RedactionRule
from broker.security import authorities, credentials
from dashboards.models import ReportRow, ReportRun
from dashboards.pages import results
from dashboards.reports import discover
from tests.console.principals import ANONYMOUS, NAMES, make_principals, signed_in
from tests.make import NOON, make_redaction

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

Kind = RedactionRule.Kind
SLUG = "differences"
HOSTILE = "\"><script>alert('1')</script>=1+1"
VALUE, OTHER = "tenant-t7", "text/secret"
AUTHORITIES: tuple[authorities.Authority, ...] = ("inquire", "browse")
RIGHTS = ("dashboards.view_report", "broker.browse_queue")
CELLS: dict[str, Any] = {
    "cluster": "abc", "queue": "orders", "label": "no such row", "field": "h.tenant",
    "how": "is", "value": VALUE, "failed": 9, "failed_all": 10, "failed_share": 0.9,
    "succeeded": 0, "succeeded_all": 100, "succeeded_share": 0.0, "lift": None,
    "odds": 1234.0, "unknown": 0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def run() -> ReportRun:
    run = ReportRun.objects.create(report=SLUG, state="done", as_of=NOON)
    for n, said in enumerate([{}, {"field": "content", "value": OTHER}], 1):
        ReportRow.objects.create(report=SLUG, run=run, n=n, cells=CELLS | said)
    return run


def tellers(client: Client) -> list[str]:
    """All that tells of its rows, with what follows it; empty where it is refused."""
    page = f"/reports/{SLUG}/"
    urls = [page, *(f"{page}export/?format={kind}" for kind in ("csv", "html"))]
    urls += [f"{page}?queue=orders&sort=value", f"/api/v1/reports/{SLUG}/rows"]
    answers = [client.get(url) for url in urls]
    return [
        b"".join(answer).decode() if answer.status_code == 200 else ""
        for answer in answers
    ]


def test_only_who_may_read_properties_is_told_of_them() -> None:
    people = make_principals()
    told = {
        name: [VALUE in text and OTHER in text for text in tellers(one.client())]
        for name, one in people.items()
    }
    assert told.keys() == {*NAMES}
    assert {name for name, tells in told.items() if all(tells)} == {
        "administrator",
        "operator",
    }
    assert {name for name, tells in told.items() if any(tells)} == {
        "administrator",
        "operator",
    }
    page = people["viewer"].client().get(f"/reports/{SLUG}/").content.decode()
    assert "Only those who may read them can see it." in page
    assert people[ANONYMOUS].client().get(f"/reports/{SLUG}/").status_code == 302


def test_rows_are_of_queues_that_one_may_browse() -> None:
    for pattern, tells in (("orders", True), ("bills", False)):
        client = signed_in(pattern, RIGHTS, AUTHORITIES, pattern).client()
        assert [VALUE in text for text in tellers(client)] == [tells] * 5
    for granted in AUTHORITIES:
        client = signed_in(granted, RIGHTS, (granted,)).client()
        assert not any(VALUE in text for text in tellers(client))
    client = signed_in("noor", RIGHTS[:1], AUTHORITIES).client()
    assert not any(VALUE in text for text in tellers(client))


def test_a_machine_is_told_as_far_as_its_credential_goes(run: ReportRun) -> None:
    signed_in("operator", RIGHTS, authorities.ALL)
    report = discover()[SLUG]
    wanted = results.ResultsQuery.of(report, {"run": str(run.pk)})
    for may_browse, count in ((True, 2), (False, 0)):
        user = User.objects.get(username="operator")
        one, _ = credentials.create(f"m{count}", user, may_browse=may_browse)
        assert results.found(authorities.through(one), wanted).count() == count
    assert results.found(None, wanted).count() == 2


@pytest.mark.parametrize(
    ("kind", "target"),
    [(Kind.PROPERTY, "TEN*"), (Kind.PATTERN, "t[0-9]")],
)
def test_what_a_rule_masks_now_is_told_to_nobody(kind: str, target: str) -> None:
    make_redaction("PII", kind, target, queues="elsewhere")
    client = signed_in("ada", RIGHTS, ("inquire", "browse", "unmask")).client()
    for text in tellers(client):
        assert VALUE not in text
        assert OTHER in text


def test_hostile_rows_stay_text(run: ReportRun) -> None:
    said = dict.fromkeys(("label", "value", "queue"), HOSTILE)
    said["field"] = f"h.{HOSTILE}"
    ReportRow.objects.create(report=SLUG, run=run, n=3, cells=CELLS | said)
    client = signed_in("ada", RIGHTS, AUTHORITIES).client()
    for text in tellers(client)[:3]:
        assert "<script>alert" not in text.replace(HOSTILE.replace('"', '""'), "")
    page = tellers(client)[0]
    assert "?f=origin%3Aorders+h.tenant%3Atenant-t7" in page
    assert "&lt;script&gt;alert" in page
