"""Messages, and the places where an entry can be.

An *entry* is one message on one queue. Which table holds its row is its state; moving
it is deleting here and inserting there, in one transaction with its row of the journal:

    put ──▶ ready ──get──▶ claim ──accept──▶ (no row: it ended)
              ▲              │
              │          back out ──▶ a copy on the dead letter address
              │              ▼
              └───due──── delayed

The tables are made by SQL (migration 0002): partitions, orders of index columns and
storage parameters are beyond Django's models, which serve the pages. No table here
refers to another by a foreign key: locks on parents would tie consumers together.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Message(models.Model):
    """What was sent; immutable. Partitioned by id; partitions are dropped whole."""

    id = models.BigIntegerField(primary_key=True)
    address = models.TextField()
    routing_type = models.SmallIntegerField(null=True)  # when the sender asked for one
    put_at = models.DateTimeField()
    priority = models.SmallIntegerField()  # 0 to 9
    durable = models.BooleanField()
    expires_at = models.DateTimeField(null=True)
    message_id = models.TextField(null=True)  # the client's own: JMSMessageID
    correlation_id = models.TextField(null=True)
    reply_to = models.TextField(null=True)
    subject = models.TextField(null=True)  # JMSType
    group_id = models.TextField(null=True)
    content_type = models.TextField()
    producer = models.TextField()
    properties = models.JSONField()
    body = models.BinaryField()
    copied_from = models.BigIntegerField(null=True)  # the message this is a copy of
    descriptor = models.JSONField(null=True)  # fields of the MQMD that differ
    headers = models.BinaryField(null=True)  # IBM's, chained, before the body
    envelope = models.BinaryField(null=True)  # what AMQP sent around the body

    class Meta:
        managed = False
        db_table = "broker_message"

    def __str__(self) -> str:
        return f"message {self.pk}"


class Ready(models.Model):
    """An entry that a get may take. ``pos`` is the id, or less for what came back."""

    pk = models.CompositePrimaryKey("queue_id", "priority", "pos")
    queue_id = models.IntegerField()
    priority = models.SmallIntegerField()
    pos = models.BigIntegerField()
    id = models.BigIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "broker_ready"


class Delayed(models.Model):
    """An entry that waits until ``due_at``: redelivery or delivery delay."""

    pk = models.CompositePrimaryKey("id", "queue_id")
    queue_id = models.IntegerField()
    id = models.BigIntegerField()
    due_at = models.DateTimeField()
    priority = models.SmallIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "broker_delayed"


class Owner(models.Model):
    """A live process. It holds ``pg_advisory_lock(classid, id)`` while it lives."""

    id = models.IntegerField(primary_key=True)
    kind = models.TextField()  # dispatcher, listener, web …
    host = models.TextField()
    pid = models.IntegerField()
    started_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "broker_owner"


class UnitOfWork(models.Model):
    """Gets that end together, held by an owner until a deadline, if there is one."""

    id = models.BigIntegerField(primary_key=True)
    owner_id = models.IntegerField()
    started_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True)
    xid = models.TextField(null=True)  # of its coordinator, once it is prepared

    class Meta:
        managed = False
        db_table = "broker_unit_of_work"


class PreparedPut(models.Model):
    """A message that a prepared unit of work sends if it is committed."""

    pk = models.CompositePrimaryKey("uow", "ord")
    uow = models.BigIntegerField()
    ord = models.IntegerField()
    fields = models.JSONField()  # of broker.queueing.put.NewMessage, but for the bytes
    body = models.BinaryField()
    headers = models.BinaryField(null=True)
    envelope = models.BinaryField(null=True)

    class Meta:
        managed = False
        db_table = "broker_prepared_put"


class Claim(models.Model):
    """Up to 200 entries of one queue that one get took. The arrays run in step."""

    pk = models.CompositePrimaryKey("uow", "claim_id")
    uow = models.BigIntegerField()
    claim_id = models.IntegerField()
    queue_id = models.IntegerField()
    claimed_at = models.DateTimeField()
    ids = ArrayField(models.BigIntegerField())  # ascending
    priorities = ArrayField(models.SmallIntegerField())
    backout_counts = ArrayField(models.IntegerField())
    delivery_counts = ArrayField(models.IntegerField())
    expiries = ArrayField(models.DateTimeField(null=True))

    class Meta:
        managed = False
        db_table = "broker_claim"


class DeadLetter(models.Model):
    """Why and whence a message on a dead letter queue got there, for triage.

    Written with the copy on the dead letter address, one row for each queue that took
    it. The row outlives the entry; housekeeping removes it with the message.
    """

    class Cause(models.TextChoices):
        """The values of the property ``_BRK_DEATH_REASON``."""

        MAX_DELIVERY_ATTEMPTS = "MAX_DELIVERY_ATTEMPTS", "delivery attempts used up"
        EXPIRED = "EXPIRED", "expired"
        REJECTED = "REJECTED", "rejected by its consumer"
        OPERATOR = "OPERATOR", "sent here by an operator"
        NO_ROUTE = "NO_ROUTE", "no queue took it"
        BACKOUT_THRESHOLD = "BACKOUT_THRESHOLD", "backout threshold reached"
        MALFORMED = "MALFORMED", "its headers cannot be read"
        UNWANTED = "UNWANTED", "no consumer's selector matches it"
        REPORT = "REPORT", "a report that its reader could not take"
        LINK = "LINK", "a link of a bridge could not carry it"

    IBM_CAUSES = (
        Cause.BACKOUT_THRESHOLD,
        Cause.MALFORMED,
        Cause.UNWANTED,
        Cause.REPORT,
    )  # what IBM MQ's rules moved keeps its properties and has headers instead

    pk = models.CompositePrimaryKey("message_id", "queue_id")
    message_id = models.BigIntegerField()  # of the copy
    queue_id = models.IntegerField()  # where the copy lies
    cause = models.TextField(choices=Cause)
    reason = models.IntegerField(null=True)  # IBM MQ's code, where one is in the header
    error = models.TextField()  # in the consumer's words, at most 1,000 characters
    fingerprint = models.TextField()  # same error, whatever numbers and names are in it
    pattern = models.TextField()  # the error with those taken out, for people
    origin_address = models.TextField()
    origin_queue = models.TextField()
    origin_id = models.BigIntegerField()  # the message it is a copy of
    backout_count = models.IntegerField()
    resubmit_count = models.IntegerField()  # earlier lives of the same message
    died_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "broker_dead_letter"


class Discarded(models.Model):
    """An entry in the discard bin: on no queue any more, and restorable for a while."""

    pk = models.CompositePrimaryKey("message_id", "queue_id")
    message_id = models.BigIntegerField()
    queue_id = models.IntegerField()  # where it was
    queue = models.TextField()  # its name then
    discarded_at = models.DateTimeField()
    keep_until = models.DateTimeField()
    reason = models.IntegerField(null=True)  # IBM MQ's code
    why = models.TextField()  # for people
    priority = models.SmallIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "broker_discarded"
