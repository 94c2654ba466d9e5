"""AMQP clients: credentials, connections, endpoints, subscriptions and bindings."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from broker.formats.wildcards import check_pattern
from broker.models.fields import CheckedTextField
from broker.models.moment_field import MomentField
from broker.models.queues import Address, Queue

NAME = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._@-]*\Z",
    gettext_lazy(
        "Give a name of letters, digits and . _ @ -, which begins with a letter or"
        " digit."
    ),
)
ASKED_TO_CLOSE = {"close_requested_at__isnull": False}


def check_patterns(text: str) -> None:
    """Refuse a text with a line that is not a pattern of queue names.

    Raises:
        ValidationError: see ``check_pattern``.
    """
    for line in text.split():
        check_pattern(line)


class Credential(models.Model):
    """A name and a secret of an application. A credential has at most its user's
    authorities.

    The secret itself is not stored. It is random and long, so a plain digest of it is
    enough. The keys for SCRAM are derived from it once.
    """

    name = models.CharField(
        max_length=100,
        validators=[NAME],
        help_text=gettext_lazy("The user name with which the application logs in."),
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="credentials",
        help_text=gettext_lazy(
            "The user whose authorities it has. It never has more than these."
        ),
    )
    patterns = CheckedTextField(
        default="#",
        validators=[check_patterns],
        help_text=gettext_lazy(
            "The queues and addresses that it may use: one pattern on each line,"
            " as in authorities."
        ),
    )
    may_get = models.BooleanField("get", default=True)
    may_browse = models.BooleanField("browse", default=True)
    may_put = models.BooleanField("put", default=True)
    secret_sha256 = models.BinaryField(editable=False)
    scram_salt = models.BinaryField(editable=False)
    scram_iterations = models.PositiveIntegerField(editable=False)
    scram_stored_key = models.BinaryField(editable=False)
    scram_server_key = models.BinaryField(editable=False)
    created_at = MomentField(db_default=Now(), editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        editable=False,
    )
    expires_at = MomentField(
        null=True,
        blank=True,
        help_text=gettext_lazy("Empty: it is valid until it is revoked."),
    )
    revoked_at = MomentField(null=True, editable=False)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        editable=False,
    )
    last_used_at = MomentField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint("name", name="one_credential_a_name")]

    def __str__(self) -> str:
        return self.name


class ClientConnection(models.Model):
    """A client's connection to a listener; deleted when the connection or the listener
    ends."""

    owner_id = models.IntegerField()  # id of the listener's process
    container_id = models.TextField()  # container id of AMQP, as the client sent it
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    credential = models.ForeignKey(Credential, models.SET_NULL, null=True)
    mechanism = models.TextField()  # SASL mechanism
    host = models.TextField()  # host and port of the client
    is_encrypted = models.BooleanField()
    # Name of the client's product, as the client gave it.
    product = models.TextField(blank=True)
    opened_at = MomentField(db_default=Now())
    close_requested_at = MomentField(null=True)
    close_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        ordering = ["id"]
        permissions = [("close_clientconnection", "Can close clients' connections")]
        indexes = [
            models.Index(
                "id", name="connections_to_close", condition=Q(**ASKED_TO_CLOSE)
            )
        ]

    def __str__(self) -> str:
        return f"connection {self.pk} of {self.container_id}"


class ClientEndpoint(models.Model):
    """An AMQP link of a client; the row is at most about a second old."""

    class Kind(models.TextChoices):
        """What the client does with the link: put, get or browse."""

        PUTS = "puts", gettext_lazy("puts")
        GETS = "gets", gettext_lazy("gets")
        BROWSES = "browses", gettext_lazy("browses")
        TRANSACTIONS = "transactions", gettext_lazy("transactions")

    connection = models.ForeignKey(
        ClientConnection, models.CASCADE, related_name="endpoints"
    )
    session = models.IntegerField()  # channel number of the session
    name = models.TextField()  # name that the client gave the link
    kind = models.TextField(choices=Kind)
    node = models.TextField()  # queue or address; empty if each message names its own
    queue = models.ForeignKey(
        "broker.Queue", models.CASCADE, null=True, related_name="endpoints"
    )  # the queue that the client gets from or browses; else null
    is_exclusive = models.BooleanField(default=False)
    credit = models.BigIntegerField(default=0)
    unsettled = models.IntegerField(default=0)
    messages = models.BigIntegerField(default=0)  # messages transferred so far
    # Share of the last minute in which it had a message to settle; null: not known.
    busy_percent = models.PositiveSmallIntegerField(null=True)
    # Messages put in transactions that are still open; of a coordinator's endpoint.
    uncommitted = models.IntegerField(default=0, db_default=0)
    opened_at = MomentField(db_default=Now())
    close_requested_at = MomentField(null=True)
    close_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index("id", name="endpoints_to_close", condition=Q(**ASKED_TO_CLOSE))
        ]
        constraints = [
            models.UniqueConstraint(
                "queue",
                name="one_exclusive_consumer_a_queue",
                condition=Q(is_exclusive=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of connection {self.connection_id}"


class Subscription(models.Model):
    """A subscription to an address, with the managed queue that holds its messages."""

    address = models.ForeignKey(Address, models.PROTECT, related_name="subscriptions")
    client_id = models.CharField(max_length=255, blank=True)
    # Name of a durable or shared subscription.
    name = models.CharField(max_length=255, blank=True)
    durable = models.BooleanField()
    # Whether several consumers share the subscription.
    is_shared = models.BooleanField(default=False, db_default=False)
    queue = models.OneToOneField(Queue, models.CASCADE, related_name="subscription")
    # Process of the client, if the subscription is not durable.
    owner_id = models.IntegerField(null=True)
    created_at = MomentField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "client_id",
                "name",
                name="one_durable_subscription_a_name",
                condition=Q(durable=True),
            ),
            models.UniqueConstraint(
                "client_id",
                "name",
                name="one_shared_subscription_a_name",
                condition=Q(durable=False, is_shared=True),
            ),
        ]

    def __str__(self) -> str:
        return self.name or f"subscription {self.pk}"


class Binding(models.Model):
    """A binding of AMQP 0-9-1: an exchange sends messages with a matching routing key
    to a queue. Celery and kombu declare them."""

    class Kind(models.TextChoices):
        """How the exchange compares its routing keys."""

        DIRECT = "direct"
        TOPIC = "topic"
        FANOUT = "fanout"

    exchange = models.CharField(max_length=255)
    kind = models.TextField(choices=Kind)
    routing_key = models.CharField(max_length=255, blank=True)
    queue = models.ForeignKey(Queue, models.CASCADE, related_name="bindings")

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                "exchange",
                "routing_key",
                "queue",
                name="a_queue_is_bound_once_by_a_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.exchange} {self.routing_key} to {self.queue_id}"
