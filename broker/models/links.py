"""Bridge links: their configuration, status and processes.

Source:
    Open MQ, ``sun_jmsbridge_1_0.dtd``; Administration Guide, "Bridge Services".
"""

from __future__ import annotations

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy

from broker.models.bridge_names import RESUBMITS, check_name
from broker.models.bridges import (
    ONE_OR_MORE,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
)
from broker.models.fields import CheckedCharField
from broker.models.moment_field import MomentField

LARGEST_BATCH = 1000


class Link(models.Model):
    """Transfers messages from a source to a target, in one direction and in order."""

    class TransformFailure(models.TextChoices):
        """What to do with a message whose transformer failed; the choices are those of
        releases of Open MQ."""

        TRANSFER = (
            "4.4",
            gettext_lazy("4.4: a dead message, and it goes on as it was"),
        )
        BY_ATTRIBUTE = (
            "4.4u1",
            gettext_lazy("4.4u1: the link stops, unless the message is consumed"),
        )

    class OnSendFailure(models.TextChoices):
        """What to do with a message that the target refuses, without transactions."""

        ACKNOWLEDGE = (
            "dmq-and-ack",
            gettext_lazy("one dead message, and the link goes on"),
        )
        RETRY = (
            "dmq-and-retry",
            gettext_lazy("a dead message for each try; the sixth stops the link"),
        )

    bridge = models.ForeignKey(Bridge, models.CASCADE, related_name="links")
    name = CheckedCharField(max_length=100, validators=[check_name])
    # Part of the names of the link's transactions.
    key = models.UUIDField(default=uuid.uuid4, editable=False)
    description = models.TextField(blank=True, default="", db_default="")
    enabled = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy(
            "If enabled, the bridge process starts the link. A disabled link"
            " cannot be started."
        ),
    )
    transacted = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy(
            "Once and only once: source and target are one transaction."
        ),
    )
    source_factory = models.ForeignKey(
        ConnectionFactory, models.RESTRICT, related_name="source_of"
    )
    source = models.ForeignKey(
        BridgeDestination, models.RESTRICT, related_name="source_of"
    )
    source_description = models.TextField(blank=True, default="", db_default="")
    selector = models.TextField(
        blank=True,
        default="",
        help_text=gettext_lazy("Transfer only messages that match this selector."),
    )
    durable_name = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy("durable-sub: of a durable subscription to a topic."),
    )
    source_client_id = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy("clientid of the source"),
    )
    target_factory = models.ForeignKey(
        ConnectionFactory, models.RESTRICT, related_name="target_of"
    )
    target = models.ForeignKey(
        BridgeDestination,
        models.RESTRICT,
        null=True,
        blank=True,
        related_name="target_of",
        help_text=gettext_lazy(
            "Empty is AS_SOURCE: the destination that the message came from."
        ),
    )
    target_description = models.TextField(blank=True, default="", db_default="")
    stay_connected = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy(
            "The connection to the target stays open while nothing is sent."
        ),
    )
    target_client_id = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy("clientid of the target"),
    )
    retain_reply_to = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy("Keep JMSReplyTo (retain-replyto)."),
    )
    transformer = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text=gettext_lazy(
            "The name of a message transformer (message-transformer-class)."
        ),
    )
    properties = models.JSONField(
        blank=True,
        default=dict,
        help_text=gettext_lazy("Properties for the transformer: texts by name."),
    )
    transformer_time_limit_s = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.01, gettext_lazy("Give a time above 0."))],
        help_text=gettext_lazy(
            "Time limit for one message, in seconds. With a limit, the"
            " transformer runs in its own process. Empty: no limit."
        ),
    )
    transform_failure = models.CharField(
        max_length=5,
        choices=TransformFailure,
        default=TransformFailure.BY_ATTRIBUTE,
        db_default=TransformFailure.BY_ATTRIBUTE,
    )
    consume_on_transform_error = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "As in Open MQ 4.4u1: a message whose transformer fails goes to the"
            " dead message queue, and the link continues"
            " (consume-no-transfer-on-transform-error)."
        ),
    )
    on_send_failure = models.CharField(
        max_length=13,
        choices=OnSendFailure,
        default=OnSendFailure.ACKNOWLEDGE,
        db_default=OnSendFailure.ACKNOWLEDGE,
    )
    duplicate_detection = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "For a target on this broker without transactions: a message that"
            " the source delivers again is recognised by its id and not stored again."
        ),
    )
    loop_guard = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy(
            "The property x-opt-bridge-path lists the links that have"
            " transferred a message. A message that comes to the same link again"
            " becomes a dead message."
        ),
    )
    batch = models.PositiveIntegerField(
        default=100,
        db_default=100,
        validators=[ONE_OR_MORE, MaxValueValidator(LARGEST_BATCH)],
        help_text=gettext_lazy(
            "The largest number of messages that are settled together."
        ),
    )

    class Meta:
        ordering = ["bridge", "name"]
        constraints = [
            models.UniqueConstraint("bridge", "name", name="one_link_a_name"),
            models.UniqueConstraint("key", name="one_link_a_key"),
        ]
        permissions = [
            ("operate_link", "Can start, pause, resume and stop links of bridges"),
            ("decide_branch", "Can end transactions of links that are in doubt"),
        ]

    def __str__(self) -> str:
        return f"{self.bridge}/{self.name}"

    @property
    def resubmit_queue(self) -> str:
        """The name of the link's resubmit queue, which it reads in addition to its
        source.

        The name joins the names of bridge and link by a dot. If either name has a dot
        itself, the link's key is added, so that no two links share a queue name.
        """
        names = f"{self.bridge.name}.{self.name}"
        key = f".{self.key.hex[:8]}" if names.count(".") > 1 else ""
        return f"{RESUBMITS}{names}{key}.resubmit"


class LinkState(models.TextChoices):
    """The states of a link; the words are Open MQ's."""

    UNINITIALIZED = "UNINITIALIZED", gettext_lazy("not started yet")
    STARTING = "STARTING", gettext_lazy("starting")
    STARTED = "STARTED", gettext_lazy("running")
    PAUSING = "PAUSING", gettext_lazy("pausing")
    PAUSED = "PAUSED", gettext_lazy("paused")
    STOPPING = "STOPPING", gettext_lazy("stopping")
    STOPPED = "STOPPED", gettext_lazy("stopped")


class LinkStatus(models.Model):
    """Status of a link. The link's runner writes it; commands change only ``wanted``.

    ``epoch`` is a fence: a process that takes the link over increments it. A runner
    commits here only while the epoch is still its own.
    """

    link = models.OneToOneField(
        Link, models.CASCADE, primary_key=True, related_name="status"
    )
    wanted = models.CharField(  # STARTED, PAUSED or STOPPED; empty: no command yet
        max_length=13, blank=True, default="", db_default=""
    )
    state = models.CharField(
        max_length=13,
        choices=LinkState,
        default=LinkState.UNINITIALIZED,
        db_default=LinkState.UNINITIALIZED,
    )
    epoch = models.BigIntegerField(default=0, db_default=0)
    owner_id = models.IntegerField(null=True)  # id of the process that runs the link
    started_at = MomentField(null=True)
    changed_at = MomentField(null=True)  # time of the last change of state
    # Number of the last batch; part of names of transactions.
    batch_number = models.BigIntegerField(default=0, db_default=0)
    # Number of failures in a row.
    failures = models.IntegerField(default=0, db_default=0)
    error = models.TextField(default="", db_default="")  # the last error, as a sentence
    error_at = MomentField(null=True)
    last_transfer_at = MomentField(null=True)
    # Number of messages that wait at the source.
    waiting = models.BigIntegerField(null=True)
    # Put time of the oldest message that waits.
    oldest_at = MomentField(null=True)
    # Time at which these two values were read.
    looked_at = MomentField(null=True)
    # Number of messages at each step of the transfer, since the link was created.
    received = models.BigIntegerField(default=0, db_default=0)
    duplicates = models.BigIntegerField(default=0, db_default=0)
    looped = models.BigIntegerField(default=0, db_default=0)
    expired = models.BigIntegerField(default=0, db_default=0)
    transformed = models.BigIntegerField(default=0, db_default=0)
    not_transferred = models.BigIntegerField(default=0, db_default=0)
    branched = models.BigIntegerField(default=0, db_default=0)
    sent = models.BigIntegerField(default=0, db_default=0)
    # Number of copies that were put on dead message queues.
    dead = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.link}: {self.state}"


class BridgeProcess(models.Model):
    """A process that runs links, and its last heartbeat.

    A process that dies releases its lock at once (``broker.queueing.processes``). A
    process that hangs keeps its lock, but its heartbeat becomes old.
    """

    owner_id = models.IntegerField(primary_key=True)
    heartbeat_at = MomentField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"bridge process {self.owner_id}"
