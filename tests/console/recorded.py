"""What the audit says was done."""

from __future__ import annotations

from broker.models import Act, AuditRecord


def deeds(*acts: Act) -> list[AuditRecord]:
    """What was done, the oldest first: these acts, or all but with accounts."""
    rows = AuditRecord.objects.filter(outcome=AuditRecord.Outcome.DONE).order_by("pk")
    if acts:
        return list(rows.filter(act__in=acts))
    return list(rows.exclude(act__startswith="account."))
