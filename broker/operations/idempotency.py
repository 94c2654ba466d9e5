"""Answers that are kept for whoever asks again: see ``KeptAnswer``.

A key is claimed, and its answer kept, in the transaction that acts. Who comes with the
same key meanwhile waits for the end of that transaction. Then there is an answer, or
nothing was done and they go on in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from broker import sql
from broker.errors.answers import AnotherRequest
from broker.models import KeptAnswer
from broker.sql.clock import database_now


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    status: int
    content_type: str
    body: bytes


def claim(
    asker: str, key: str, digest: bytes, *, now: datetime | None = None
) -> Answer | None:
    """Take a key for this transaction; or the answer that it got before.

    Args:
        asker: whose key it is; others may have the same.
        key: as it was sent.
        digest: of what is asked for.
        now: when; the database's clock when not given.

    Raises:
        AnotherRequest: it was for something else.
        OperationalError: another transaction has it for longer than one waits.
    """
    if sql.run("claim_key", {"asker": asker, "key": key, "digest": digest, "now": now}):
        return None
    known = KeptAnswer.objects.get(asker=asker, key=key)
    if bytes(known.digest) != digest:
        raise AnotherRequest(key)
    assert known.status is not None, "it was kept in the transaction that claimed it"
    return Answer(known.status, known.content_type, bytes(known.body or b""))


def keep(asker: str, key: str, answer: Answer) -> None:
    """Keep the answer to a key that this transaction has claimed."""
    KeptAnswer.objects.filter(asker=asker, key=key).update(
        status=answer.status, content_type=answer.content_type, body=answer.body
    )


def forget_old(*, limit: int, now: datetime | None = None) -> int:
    """Forget answers that were kept long enough; return how many, at most ``limit``."""
    kept_for = timedelta(hours=settings.BACKOUT_ANSWERS_KEPT_HOURS)
    old = KeptAnswer.objects.filter(asked_at__lte=(now or database_now()) - kept_for)
    ids = old.order_by("asked_at").values_list("pk", flat=True)[:limit]
    forgotten, _ = KeptAnswer.objects.filter(pk__in=list(ids)).delete()
    return forgotten
