"""The journal: what happened to every entry, and what that adds up to.

One row says it for all entries of one statement. Rows are never changed, so whoever
follows the journal reads windows of transaction ids below ``pg_snapshot_xmin``:
complete and final. Never ``id > last``: sequence order is not commit order, and rows
are lost.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Place(models.IntegerChoices):
    """Where an entry is. Nowhere (null) is before its put and after its end."""

    READY = 1
    CLAIMED = 2
    DELAYED = 3


class Kind(models.IntegerChoices):
    """What was done to the entries; the words operators read."""

    PUT = 1, "put"
    GET = 2, "got"
    ACCEPT = 3, "accepted"
    BACK_OUT = 4, "backed out"
    RELEASE = 5, "released"
    WAKE = 6, "due again"
    DEAD_LETTER = 7, "dead-lettered"
    EXPIRE = 8, "expired"
    DISCARD = 9, "discarded"
    RESUBMIT = 10, "resubmitted"
    RESTORE = 11, "restored"
    SKIP = 12, "skipped a backout"
    RESET = 13, "counted anew"
    UNDO = 14, "taken back"
    REINSTATE = 15, "reinstated"
    MOVE = 16, "moved"
    REPRIORITIZE = 17, "given another priority"
    REMOVE = 18, "removed"
    TRANSFER = 19, "carried by a link"


class Event(models.Model):
    """One row of the journal. Partitioned by day.

    The entries went from ``came_from`` to ``went_to``, so the sum over all rows is the
    depth of every queue, and an entry that went nowhere has ended.
    """

    seq = models.BigIntegerField(primary_key=True)  # for order within a transaction
    xid = models.BigIntegerField()
    at = models.DateTimeField()
    kind = models.SmallIntegerField(choices=Kind)
    queue_id = models.IntegerField()
    came_from = models.SmallIntegerField(null=True, choices=Place)
    went_to = models.SmallIntegerField(null=True, choices=Place)
    uow = models.BigIntegerField(null=True)
    actor = models.TextField()  # handler, user or task; empty for the broker itself
    n = models.IntegerField()
    ids = ArrayField(models.BigIntegerField())  # of messages, ascending
    detail = models.JSONField(null=True)  # error, cause, copies, due_at …

    class Meta:
        managed = False
        db_table = "broker_event"


class Tally(models.Model):
    """Sums of the journal below the watermark ``tally``, by what was done."""

    pk = models.CompositePrimaryKey("queue_id", "kind", "came_from", "went_to")
    queue_id = models.IntegerField()
    kind = models.SmallIntegerField(choices=Kind)
    came_from = models.SmallIntegerField()  # 0 is nowhere
    went_to = models.SmallIntegerField()
    entries = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "broker_tally"


class Watermark(models.Model):
    """How far a reader of the journal has come: all below ``xid`` is read."""

    reader = models.CharField(max_length=32, primary_key=True)
    xid = models.BigIntegerField(default=0, db_default=0)
