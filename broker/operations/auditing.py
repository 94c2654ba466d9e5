"""Audit records of operations: one for each act, however many messages it affects."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from broker.models import Act, Operation, Queue
from broker.security import audit
from broker.security.audit import Thing


def note(
    act: Act,
    operation: Operation,
    reason: str | None = None,
    *,
    by: Any = None,
    **detail: Any,
) -> None:
    """Record an act on an operation in the audit, in the transaction of the act. If no
    reason is given, the reason of the operation is recorded."""
    audit.record(
        act,
        Thing("operation", operation.pk, f"{operation.kind} {operation.pk}"),
        by=by,
        reason=operation.reason if reason is None else reason,
        detail={
            "kind": operation.kind,
            "scope": operation.scope,
            "messages": by_queue(operation),
            **({"argument": operation.argument} if operation.argument else {}),
            **({"undoes": operation.undoes_id} if operation.undoes_id else {}),
            **detail,
        },
        operation=operation.pk,
    )


def by_queue(operation: Operation) -> dict[str, int]:
    """The number of an operation's messages, by queue name; a deleted queue is named by
    its id."""
    counted = operation.items.values_list("queue_id").annotate(Count("pk")).order_by()
    rows = dict(counted)
    names = dict(Queue.objects.filter(pk__in=rows).values_list("pk", "name"))
    return {
        names.get(queue_id, f"queue {queue_id}"): count
        for queue_id, count in rows.items()
    }
