"""Messages, and the tables of the states of an entry.

An *entry* is one message on one queue. The table that holds its row is its state. A
change of state deletes the row in one table and inserts it in another, in one
transaction with its row of the journal:

    put ──▶ ready ──get──▶ claim ──accept──▶ (no row)
              ▲              │
              │          back out ──▶ a copy on the dead letter address
              │              ▼
              └───due──── delayed

The tables are created by SQL (migration 0002): Django's models cannot express their
partitions, index orders and storage parameters. The models here are for reading. There
are no foreign keys between these tables: locks on parent rows would make consumers wait
for each other.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy

from broker.models.moment_field import MomentField


class Message(models.Model):
    """A message as it was sent; immutable. Partitioned by id; old partitions are
    dropped."""

    id = models.BigIntegerField(primary_key=True)
    address = models.TextField()
    # The routing type that the sender asked for; null: none.
    routing_type = models.SmallIntegerField(null=True)
    put_at = MomentField()
    priority = models.SmallIntegerField()  # 0 to 9; 9 is the highest
    durable = models.BooleanField()
    expires_at = MomentField(null=True)
    message_id = models.TextField(null=True)  # the client's own id: JMSMessageID
    correlation_id = models.TextField(null=True)
    reply_to = models.TextField(null=True)
    subject = models.TextField(null=True)  # JMSType
    group_id = models.TextField(null=True)
    content_type = models.TextField()
    producer = models.TextField()
    properties = models.JSONField()
    body = models.BinaryField()
    copied_from = models.BigIntegerField(null=True)  # the message this is a copy of
    # Fields of the MQMD that differ from their defaults.
    descriptor = models.JSONField(null=True)
    headers = models.BinaryField(null=True)  # IBM MQ's chained headers before the body
    envelope = models.BinaryField(null=True)  # other AMQP sections of the message
    # The id of the first original of a copy, over copies of copies: the number of the
    # message for people. Null: the message is no copy, and its own id is that number.
    first_id = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "broker_message"

    def __str__(self) -> str:
        return f"message {self.pk}"


class Ready(models.Model):
    """An entry that a get may take. ``pos`` is its id, or lower after a backout."""

    pk = models.CompositePrimaryKey("queue_id", "priority", "pos")
    queue_id = models.IntegerField()
    priority = models.SmallIntegerField()
    pos = models.BigIntegerField()
    id = models.BigIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = MomentField(null=True)

    class Meta:
        managed = False
        db_table = "broker_ready"


class Delayed(models.Model):
    """An entry that waits until ``due_at``: redelivery or delivery delay."""

    pk = models.CompositePrimaryKey("id", "queue_id")
    queue_id = models.IntegerField()
    id = models.BigIntegerField()
    due_at = MomentField()
    priority = models.SmallIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = MomentField(null=True)

    class Meta:
        managed = False
        db_table = "broker_delayed"


class Owner(models.Model):
    """A live process. It holds ``pg_advisory_lock(classid, id)`` while it runs."""

    id = models.IntegerField(primary_key=True)
    kind = models.TextField()  # as "dispatcher", "listener" or "web"
    host = models.TextField()
    pid = models.IntegerField()
    started_at = MomentField()

    class Meta:
        managed = False
        db_table = "broker_owner"


class UnitOfWork(models.Model):
    """A unit of work: claims that one owner holds, until an optional deadline."""

    id = models.BigIntegerField(primary_key=True)
    owner_id = models.IntegerField()
    started_at = MomentField()
    deadline = MomentField(null=True)
    # The coordinator's id of the transaction; set when it is prepared.
    xid = models.TextField(null=True)
    puts = models.IntegerField(default=0)  # messages put so far, noted once a second

    class Meta:
        managed = False
        db_table = "broker_unit_of_work"


class PreparedPut(models.Model):
    """A message that a prepared unit of work puts when it is committed."""

    pk = models.CompositePrimaryKey("uow", "ord")
    uow = models.BigIntegerField()
    ord = models.IntegerField()
    # Fields of broker.queueing.put.NewMessage, without those of type bytes.
    fields = models.JSONField()
    body = models.BinaryField()
    headers = models.BinaryField(null=True)
    envelope = models.BinaryField(null=True)

    class Meta:
        managed = False
        db_table = "broker_prepared_put"


class Claim(models.Model):
    """Up to 200 entries of one queue that one get has claimed; one entry at each index
    of the arrays."""

    pk = models.CompositePrimaryKey("uow", "claim_id")
    uow = models.BigIntegerField()
    claim_id = models.IntegerField()
    queue_id = models.IntegerField()
    claimed_at = MomentField()
    ids = ArrayField(models.BigIntegerField())  # message ids, ascending
    priorities = ArrayField(models.SmallIntegerField())
    backout_counts = ArrayField(models.IntegerField())
    delivery_counts = ArrayField(models.IntegerField())
    expiries = ArrayField(models.DateTimeField(null=True))

    class Meta:
        managed = False
        db_table = "broker_claim"


class DeadLetter(models.Model):
    """Cause and origin of a message on a dead letter queue.

    The row is written with the copy on the dead letter address, one row for each queue
    of that address. The row stays when the entry is gone; housekeeping deletes it with
    the message.
    """

    class Cause(models.TextChoices):
        """The values of the property ``_BRK_DEATH_REASON``."""

        MAX_DELIVERY_ATTEMPTS = (
            "MAX_DELIVERY_ATTEMPTS",
            gettext_lazy("delivery attempts used up"),
        )
        EXPIRED = "EXPIRED", gettext_lazy("expired")
        REJECTED = "REJECTED", gettext_lazy("rejected by its consumer")
        OPERATOR = "OPERATOR", gettext_lazy("sent here by an operator")
        NO_ROUTE = "NO_ROUTE", gettext_lazy("no queue took it")
        BACKOUT_THRESHOLD = (
            "BACKOUT_THRESHOLD",
            gettext_lazy("backout threshold reached"),
        )
        MALFORMED = "MALFORMED", gettext_lazy("its headers cannot be read")
        UNWANTED = "UNWANTED", gettext_lazy("no consumer's selector matches it")
        REPORT = "REPORT", gettext_lazy("a report that its reader could not take")
        LINK = "LINK", gettext_lazy("a link of a bridge could not carry it")

    # Causes of dead letters by the rules of IBM MQ: the copy keeps its properties, and
    # gets IBM MQ's headers.
    IBM_CAUSES = (
        Cause.BACKOUT_THRESHOLD,
        Cause.MALFORMED,
        Cause.UNWANTED,
        Cause.REPORT,
    )

    pk = models.CompositePrimaryKey("message_id", "queue_id")
    message_id = models.BigIntegerField()  # message id of the copy
    queue_id = models.IntegerField()  # queue that the copy is on
    cause = models.TextField(choices=Cause)
    reason = models.IntegerField(null=True)  # IBM MQ's reason code, if an MQDLH has one
    error = models.TextField()  # error that the consumer gave, at most 1,000 characters
    # Fingerprint of the error, without its numbers and names.
    fingerprint = models.TextField()
    pattern = models.TextField()  # the error without its numbers and names, as text
    origin_address = models.TextField()
    origin_queue = models.TextField()
    origin_id = models.BigIntegerField()  # id of the message that was copied
    backout_count = models.IntegerField()
    resubmit_count = models.IntegerField()  # earlier resubmits of the same message
    died_at = MomentField()

    class Meta:
        managed = False
        db_table = "broker_dead_letter"


class Annotations(models.Model):
    """What AMQP's outcome ``modified`` added to an entry; kept until the message is
    deleted."""

    pk = models.CompositePrimaryKey("message_id", "queue_id")
    message_id = models.BigIntegerField()
    queue_id = models.IntegerField()
    annotations = models.JSONField()  # encoded values in hexadecimal, by name

    class Meta:
        managed = False
        db_table = "broker_annotations"


class Returned(models.Model):
    """What a task returned; kept until its message is deleted. No row for None."""

    message_id = models.BigIntegerField(primary_key=True)
    value = models.JSONField()

    class Meta:
        managed = False
        db_table = "broker_returned"


class Discarded(models.Model):
    """An entry in the discard bin: no longer on a queue, restorable for a while."""

    pk = models.CompositePrimaryKey("message_id", "queue_id")
    message_id = models.BigIntegerField()
    queue_id = models.IntegerField()  # id of the queue that the entry was on
    queue = models.TextField()  # name of that queue at the time
    discarded_at = MomentField()
    keep_until = MomentField()
    reason = models.IntegerField(null=True)  # IBM MQ's reason code
    why = models.TextField()  # the reason as a sentence
    priority = models.SmallIntegerField()
    backout_count = models.IntegerField()
    delivery_count = models.IntegerField()
    expires_at = MomentField(null=True)

    class Meta:
        managed = False
        db_table = "broker_discarded"
