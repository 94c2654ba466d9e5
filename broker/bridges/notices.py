"""Notices about messages in doubt: a branch remembers its own, which leave the dead
message queue of this broker when the branch is settled.

Whichever way it ends, each message is then at the target, or at its source and sent
again by the link. A notice that stayed would only double it when it is resubmitted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker import sql
from broker.models import Branch, Kind, Place
from broker.queueing.store import Receipt
from broker.queueing.transfer import Record
from broker.settlement.discards import discard
from broker.settlement.settle import held_from

logger = logging.getLogger(__name__)

WHY = "The link has settled the transaction {}: the message is not in doubt any more."


def remember(xid: str, buried: Sequence[Receipt]) -> None:
    """Store the notices of a branch with it, in the open transaction."""
    branch = Branch.objects.select_for_update().filter(xid=xid).first()
    if branch is None:
        return
    told = [
        [one, receipt.message_id] for receipt in buried for one in receipt.queue_ids
    ]
    branch.detail = {**branch.detail, "notices": told}
    branch.save(update_fields=["detail"])


def withdraw(branch: Branch) -> None:
    """Discard the notices of a branch that is settled, in the open transaction. Those
    that somebody has taken meanwhile stay where they are."""
    by_queue: dict[int, list[int]] = {}
    for queue_id, message_id in branch.detail.get("notices", []):
        by_queue.setdefault(queue_id, []).append(message_id)
    for queue_id, ids in by_queue.items():
        taken = sql.fetch(
            "take_ready",
            held_from,
            queue_id=queue_id,
            ids=ids,
            expired_too=True,
            now=None,
        )
        record = Record(Kind.DISCARD, Place.READY, None, f"link {branch.link}"[:255])
        discard(taken, record, why=WHY.format(branch.xid))
        logger.info("%s: %d notices of %s ended", branch.link, len(taken), branch.xid)
