"""Messages of which something is masked, and what tests ask of what shows them."""

from __future__ import annotations

import json
from typing import Any

from django.http.response import HttpResponseBase

from broker.models import Act, AuditRecord
from tests.make import make_redaction

SECRET, TENANT = "Doe-7731", "tenant-4471"
BODY = json.dumps({"patient": {"name": SECRET}, "ward": "B3"}).encode()
FIELDS: dict[str, Any] = {
    "body": BODY,
    "content_type": "application/json",
    "properties": {"tenant": TENANT, "shift": "night"},
}
MARK = "••• masked by rule"
WHY = "the patient asked"
API = "/api/v1"


def make_rules(queues: str = "orders") -> None:
    make_redaction("PII-1", "json", "/patient/name", queues)
    make_redaction("PII-2", "property", "ten*", queues)


def content(answer: HttpResponseBase) -> str:
    assert answer.status_code == 200, answer
    return answer.getvalue().decode()


def assert_masked(text: str, *, mark: str = MARK) -> None:
    assert SECRET not in text
    assert TENANT not in text
    assert mark in text


def unmasked() -> list[AuditRecord]:
    return list(AuditRecord.objects.filter(act=Act.UNMASK))
