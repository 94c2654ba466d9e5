"""How often each rule has tried a dead letter, counted over all copies of a message.

If a rule resubmits a dead letter, it sends a copy. If this copy fails too, a second
dead letter is made of it, which inherits the counts of the first. If a user resubmits a
dead letter, the counts start at zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from broker.models import Message, RuleAttempt
from broker.operations.rules.first_match import Tried
from broker.operations.rules.matching import Letter
from broker.sql import database_now

# Attempts on a deleted message are kept for this time after the last attempt.
RESTS = timedelta(days=1)


def tried_on(letters: Sequence[Letter], queue_id: int) -> dict[int, Tried]:
    """The attempts on letters, by message id. One query."""
    own = Q(message_id__in=[one.message_id for one in letters], queue_id=queue_id)
    earlier = Q(copy_id__in=[one.parent_id for one in letters])
    by_message: dict[int, Tried] = {}
    by_copy: dict[int, Tried] = {}
    for row in RuleAttempt.objects.filter(own | earlier):
        tried = Tried(row.attempts, row.tried_at)
        if row.queue_id == queue_id:
            by_message[row.message_id] = tried
        if row.copy_id is not None:
            by_copy[row.copy_id] = tried
    found = {
        one.message_id: by_message.get(one.message_id) or by_copy.get(one.parent_id)
        for one in letters
    }
    return {message_id: tried for message_id, tried in found.items() if tried}


def note(
    queue_id: int,
    became: Mapping[int, int | None],
    rule_key: str,
    tried: Mapping[int, Tried],
    now: datetime,
) -> None:
    """Count one more attempt of a rule.

    Args:
        queue_id: the queue of the letters.
        became: message id of each letter's copy, or None, by message id of the letter.
        rule_key: key of the rule.
        tried: the attempts before, by message id of the letter.
        now: the current time.
    """
    rows = []
    for message_id, copy_id in became.items():
        before = tried[message_id].attempts if message_id in tried else {}
        attempts = {**before, rule_key: before.get(rule_key, 0) + 1}
        rows.append(
            RuleAttempt(
                message_id=message_id,
                queue_id=queue_id,
                copy_id=copy_id,
                attempts=attempts,
                tried_at=now,
            )
        )
    RuleAttempt.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["message_id", "queue_id"],
        update_fields=["copy_id", "attempts", "tried_at"],
    )


def forget_gone(*, limit: int, now: datetime | None = None) -> int:
    """Delete attempts on letters whose messages are deleted; return the number
    deleted."""
    at = now or database_now()
    stored = Message.objects.filter(
        pk__in=[OuterRef("message_id"), OuterRef("copy_id")]
    )
    old = RuleAttempt.objects.filter(~Exists(stored), tried_at__lt=at - RESTS)
    ids = list(old.values_list("pk", flat=True)[:limit])
    RuleAttempt.objects.filter(pk__in=ids).delete()
    return len(ids)
