"""The journal: the events of all entries, their sums, and readers' watermarks.

One row is the event of all entries of one statement. Rows never change. A reader of the
journal reads windows of transaction ids below ``pg_snapshot_xmin``: these are complete
and final. It must not read ``id > last``: sequence order is not commit order, so it
would miss rows.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_noop

from broker.models.moment_field import MomentField


class Place(models.IntegerChoices):
    """The state of an entry. It is null before the put and after the entry has
    ended."""

    READY = 1
    CLAIMED = 2
    DELAYED = 3


class Kind(models.IntegerChoices):
    """The kind of an event. The labels are for operators."""

    PUT = 1, gettext_noop("put")
    GET = 2, gettext_noop("got")
    ACCEPT = 3, gettext_noop("accepted")
    BACK_OUT = 4, gettext_noop("backed out")
    RELEASE = 5, gettext_noop("released")
    WAKE = 6, gettext_noop("due again")
    DEAD_LETTER = 7, gettext_noop("dead-lettered")
    EXPIRE = 8, gettext_noop("expired")
    DISCARD = 9, gettext_noop("discarded")
    RESUBMIT = 10, gettext_noop("resubmitted")
    RESTORE = 11, gettext_noop("restored")
    SKIP = 12, gettext_noop("skipped a backout")
    RESET = 13, gettext_noop("counted anew")
    UNDO = 14, gettext_noop("taken back")
    REINSTATE = 15, gettext_noop("reinstated")
    MOVE = 16, gettext_noop("moved")
    REPRIORITIZE = 17, gettext_noop("given another priority")
    REMOVE = 18, gettext_noop("removed")
    TRANSFER = 19, gettext_noop("carried by a link")
    RESCHEDULE = 20, gettext_noop("given another due time")


class Event(models.Model):
    """One row of the journal. Partitioned by day.

    The entries went from ``came_from`` to ``went_to``. So the sum over all rows is the
    depth of each queue, and an entry whose ``went_to`` is null has left its queue.
    """

    # Its order is the order of the events of one transaction.
    seq = models.BigIntegerField(primary_key=True)
    xid = models.BigIntegerField()
    at = MomentField()
    kind = models.SmallIntegerField(choices=Kind)
    queue_id = models.IntegerField()
    came_from = models.SmallIntegerField(null=True, choices=Place)
    went_to = models.SmallIntegerField(null=True, choices=Place)
    uow = models.BigIntegerField(null=True)
    actor = models.TextField()  # handler, user or task; empty for the broker itself
    n = models.IntegerField()
    ids = ArrayField(models.BigIntegerField())  # message ids, ascending
    # JSON object with error, cause, copies, due_at ….
    detail = models.JSONField(null=True)
    # Milliseconds from get to accept, of accepted entries; earlier versions wrote null.
    held_ms = models.IntegerField(null=True)

    class Meta:
        managed = False
        db_table = "broker_event"


class Tally(models.Model):
    """Sums of the journal below the watermark ``tally``, by kind of event."""

    pk = models.CompositePrimaryKey("queue_id", "kind", "came_from", "went_to")
    queue_id = models.IntegerField()
    kind = models.SmallIntegerField(choices=Kind)
    came_from = models.SmallIntegerField()  # a value of ``Place``; 0: no place
    went_to = models.SmallIntegerField()
    entries = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "broker_tally"


class Held(models.Model):
    """Accepted entries below the watermark ``tally``, by time from get to accept."""

    pk = models.CompositePrimaryKey("queue_id", "bucket")
    queue_id = models.IntegerField()
    # Index of the bucket in ``broker.queueing.journal.BOUNDS_MS``.
    bucket = models.SmallIntegerField()
    entries = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "broker_held"


class Watermark(models.Model):
    """Position of a reader of the journal: it has read all events below ``xid``.

    The tally has not read those of the transactions in ``skipped``, which stay open.
    """

    reader = models.CharField(max_length=32, primary_key=True)
    xid = models.BigIntegerField(default=0, db_default=0)
    skipped = ArrayField(models.BigIntegerField(), default=list, db_default=[])
    # The end of the last fold's snapshot. A transaction below it that is still open at
    # the next fold is skipped.
    seen = models.BigIntegerField(default=0, db_default=0)
