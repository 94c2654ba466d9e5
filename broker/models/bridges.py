"""The configuration of bridges: the providers and destinations of their links.

The attributes are those of Open MQ's ``jmsbridge`` document, with its defaults.

Source:
    Open MQ, ``sun_jmsbridge_1_0.dtd``; Administration Guide, "Bridge Services".
"""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy

from broker.models.bridge_names import check_name
from broker.models.fields import CheckedCharField

FOR_EVER = MinValueValidator(
    -1, gettext_lazy("Give -1 to try for ever, or a number from 0.")
)
ONE_OR_MORE = MinValueValidator(1, gettext_lazy("Give a number from 1."))


class Bridge(models.Model):
    """A set of links, with the connection factories and destinations that they use."""

    name = CheckedCharField(max_length=100, validators=[check_name])
    description = models.TextField(blank=True, default="", db_default="")
    tag_messages = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "Adds the property JMS_SUN_JMSBRIDGE_NAME with the name of the"
            " bridge to each message (message-transfer-tag-bridge-name). A selector on"
            " it prevents loops."
        ),
    )
    log_transfers = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy("Log each transfer (log-message-transfer)."),
    )

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint("name", name="one_bridge_a_name")]

    def __str__(self) -> str:
        return self.name


class ConnectionFactory(models.Model):
    """How to connect to a provider: URL, user and password."""

    bridge = models.ForeignKey(Bridge, models.CASCADE, related_name="factories")
    name = CheckedCharField(
        max_length=100, validators=[check_name], help_text=gettext_lazy("ref-name")
    )
    description = models.TextField(blank=True, default="", db_default="")
    provider = models.CharField(
        max_length=20,
        help_text=gettext_lazy("The type of the provider; this-broker needs no URL."),
    )
    url = models.CharField(
        max_length=500,
        blank=True,
        default="",
        help_text=gettext_lazy("Such as stomp://host:61613."),
    )
    username = models.CharField(max_length=255, blank=True, default="")
    secret = models.TextField(
        blank=True, default="", editable=False
    )  # encrypted; see ``broker.bridges.secrets``
    properties = models.JSONField(
        blank=True,
        default=dict,
        help_text=gettext_lazy("Further properties of the provider: texts by name."),
    )
    lookup_name = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy(
            "lookup-name: of a JNDI repository; kept for the document only."
        ),
    )
    connect_attempts = models.IntegerField(
        default=-1,
        db_default=-1,
        validators=[FOR_EVER],
        help_text=gettext_lazy(
            "Connection attempts before the link stops; -1: no limit."
        ),
    )
    connect_interval_s = models.PositiveIntegerField(
        default=5,
        db_default=5,
        help_text=gettext_lazy(
            "Seconds between two attempts (connect-attempt-interval-in-seconds)."
        ),
    )
    idle_timeout_s = models.PositiveIntegerField(
        default=1800,
        db_default=1800,
        help_text=gettext_lazy(
            "Seconds without a message after which an idle connection is closed,"
            " unless it stays connected; 0: never (idle-timeout-in-seconds)."
        ),
    )
    multi_rm = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "multi-rm: kept for the document only; here each factory is one"
            " resource manager."
        ),
    )

    class Meta:
        verbose_name_plural = gettext_lazy("connection factories")
        ordering = ["bridge", "name"]
        constraints = [
            models.UniqueConstraint("bridge", "name", name="one_factory_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.bridge}: {self.name}"


class BridgeDestination(models.Model):
    """A queue or a topic of a provider; links refer to it by ``ref_name``."""

    class Kind(models.TextChoices):
        QUEUE = "queue", gettext_lazy("Queue")
        TOPIC = "topic", gettext_lazy("Topic")

    bridge = models.ForeignKey(Bridge, models.CASCADE, related_name="destinations")
    ref_name = CheckedCharField(
        max_length=100, validators=[check_name], help_text=gettext_lazy("ref-name")
    )
    description = models.TextField(blank=True, default="", db_default="")
    name = models.CharField(
        max_length=255, help_text=gettext_lazy("Its name at the provider.")
    )
    kind = models.CharField(
        max_length=5, choices=Kind, default=Kind.QUEUE, help_text=gettext_lazy("type")
    )
    lookup_name = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy(
            "lookup-name: of a JNDI repository; kept for the document only."
        ),
    )
    properties = models.JSONField(blank=True, default=dict)

    class Meta:
        verbose_name = gettext_lazy("destination")
        ordering = ["bridge", "ref_name"]
        constraints = [
            models.UniqueConstraint("bridge", "ref_name", name="one_destination_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.bridge}: {self.ref_name} ({self.kind}:{self.name})"


class DeadMessageQueue(models.Model):
    """An additional queue for messages that a bridge cannot transfer. A copy is sent
    here first; then a copy is also put on the built-in queue."""

    bridge = models.ForeignKey(Bridge, models.CASCADE, related_name="dead_queues")
    name = CheckedCharField(max_length=100, validators=[check_name])
    description = models.TextField(blank=True, default="", db_default="")
    position = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text=gettext_lazy(
            "Dead message queues are tried in this order, the lowest first."
        ),
    )
    enabled = models.BooleanField(default=True, db_default=True)
    factory = models.ForeignKey(
        ConnectionFactory, models.RESTRICT, related_name="dead_queue_of"
    )
    destination = models.ForeignKey(
        BridgeDestination, models.RESTRICT, related_name="dead_queue_of"
    )
    stay_connected = models.BooleanField(default=True, db_default=True)
    time_to_live_ms = models.PositiveBigIntegerField(
        default=0,
        db_default=0,
        help_text=gettext_lazy(
            "Time to live of dead messages, in milliseconds; 0: for ever"
            " (time-to-live-in-millis)."
        ),
    )
    client_id = models.CharField(max_length=255, blank=True, default="")
    send_attempts = models.PositiveIntegerField(
        default=3,
        db_default=3,
        validators=[ONE_OR_MORE],
        help_text=gettext_lazy("Attempts to send to this queue (send-attempts)."),
    )
    send_interval_s = models.PositiveIntegerField(
        default=5,
        db_default=5,
        help_text=gettext_lazy(
            "Seconds between two attempts (send-attempt-interval-in-seconds)."
        ),
    )
    transformer = models.CharField(max_length=255, blank=True, default="")
    properties = models.JSONField(blank=True, default=dict)

    class Meta:
        ordering = ["bridge", "position", "id"]
        constraints = [
            models.UniqueConstraint("bridge", "name", name="one_dead_queue_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.bridge}: {self.name}"
