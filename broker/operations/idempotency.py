"""Idempotency keys: a repeated request gets the stored response (``StoredResponse``).

A key is claimed and its response stored in the transaction of the request. A concurrent
request with the same key waits for the end of that transaction. If it committed, the
second request gets the response; if it rolled back, the second is processed instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from broker import sql
from broker.errors.answers import AnotherRequest
from broker.models import StoredResponse
from broker.sql import database_now


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored response."""

    status: int
    content_type: str
    body: bytes


def claim(
    asker: str, key: str, digest: bytes, *, now: datetime | None = None
) -> Answer | None:
    """Claim a key for this transaction; or return the response stored for it.

    Args:
        asker: the owner of the key; another owner may use the same key.
        key: the key that the client sent.
        digest: digest of the request.
        now: the current time; the database's clock when not given.

    Raises:
        AnotherRequest: the key was used for another request.
        OperationalError: another transaction held the key for longer than the lock
            timeout.
    """
    if sql.run("claim_key", {"asker": asker, "key": key, "digest": digest, "now": now}):
        return None
    known = StoredResponse.objects.get(asker=asker, key=key)
    if bytes(known.digest) != digest:
        raise AnotherRequest(key)
    assert known.status is not None, "it was kept in the transaction that claimed it"
    return Answer(known.status, known.content_type, bytes(known.body or b""))


def keep(asker: str, key: str, answer: Answer) -> None:
    """Store the response to a key that this transaction has claimed."""
    StoredResponse.objects.filter(asker=asker, key=key).update(
        status=answer.status, content_type=answer.content_type, body=answer.body
    )


def forget_old(*, limit: int, now: datetime | None = None) -> int:
    """Delete responses past their retention, at most ``limit``; return the number
    deleted."""
    kept_for = timedelta(hours=settings.BACKOUT_ANSWERS_KEPT_HOURS)
    old = StoredResponse.objects.filter(
        asked_at__lte=(now or database_now()) - kept_for
    )
    ids = old.order_by("asked_at").values_list("pk", flat=True)[:limit]
    forgotten, _ = StoredResponse.objects.filter(pk__in=list(ids)).delete()
    return forgotten
