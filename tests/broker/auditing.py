"""What tests of the audit need: acts that are committed, and somebody who tampers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from broker.models import Act, AuditRecord
from broker.security import audit
from broker.security.audit import Thing


def note(name: str = "orders", **fields: Any) -> None:
    """A record of a pause, committed at once where nothing else has begun."""
    with transaction.atomic():
        audit.record(Act.PAUSE, Thing("queue", 7, name), **fields)


def last() -> AuditRecord:
    return AuditRecord.objects.latest("pk")


def detail(record: AuditRecord | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((record or last()).detail)
    return found


@contextmanager
def tampering() -> Iterator[Any]:
    """Change what nobody may, as the owner of the database can; undone at the end."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            yield cursor
        transaction.set_rollback(True)


def guard() -> None:
    """Let nobody empty the audit, as in every database but those of tests."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE broker_audit ENABLE TRIGGER audit_is_not_emptied")
