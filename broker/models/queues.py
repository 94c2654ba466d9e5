"""Addresses, queues, model queues and aliases."""

from __future__ import annotations

from typing import Any

from django.core.validators import MaxValueValidator, URLValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from broker.models.moment_field import MomentField


class RoutingType(models.IntegerChoices):
    """How an address routes a message to its queues; the numbers are Artemis'."""

    MULTICAST = 0, gettext_lazy("multicast: every queue")
    ANYCAST = 1, gettext_lazy("anycast: one queue")


DURABLE_MODEL = "SYSTEM.DURABLE.MODEL.QUEUE"
NONDURABLE_MODEL = "SYSTEM.NDURABLE.MODEL.QUEUE"
HIGHEST_THRESHOLD = 999_999_999


class Address(models.Model):
    """A name that producers send to."""

    name = models.CharField(max_length=255)
    durable_model = models.CharField(
        max_length=255,
        default=DURABLE_MODEL,
        db_default=DURABLE_MODEL,
        help_text=gettext_lazy("The model queue of durable subscriptions (MDURMDL)."),
    )
    nondurable_model = models.CharField(
        max_length=255,
        default=NONDURABLE_MODEL,
        db_default=NONDURABLE_MODEL,
        help_text=gettext_lazy("The model queue of other subscriptions (MNDURMDL)."),
    )
    auto_created = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = MomentField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = gettext_lazy("addresses")
        constraints = [models.UniqueConstraint("name", name="one_address_a_name")]

    def __str__(self) -> str:
        return self.name


class Limits(models.Model):
    """The attributes that IBM MQ's local queues and model queues have in common."""

    backout_threshold = models.PositiveIntegerField(
        default=0,
        db_default=0,
        validators=[MaxValueValidator(HIGHEST_THRESHOLD)],
        help_text=gettext_lazy(
            "Backouts after which consumers move a message to the backout queue"
            " (BOTHRESH); 0: never."
        ),
    )
    backout_queue = models.CharField(
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy(
            "The queue for messages that reached the backout threshold (BOQNAME)."
        ),
    )
    max_depth = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The largest number of messages (MAXDEPTH); empty: no limit."
        ),
    )
    max_message_bytes = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The largest size of body and headers, in bytes (MAXMSGL); empty:"
            " the limit of the broker."
        ),
    )

    class Meta:
        abstract = True


class CountsWhenLost(models.TextChoices):
    """Which deliveries count as backed out when their client is lost."""

    ALL = "all", gettext_lazy("every delivery")
    OLDEST = "oldest", gettext_lazy("the oldest only")
    NONE = "none", gettext_lazy("none")


class Queue(Limits):
    """A queue of an address; IBM MQ's local queue."""

    class Kind(models.IntegerChoices):
        """Who created the queue."""

        LOCAL = 1, gettext_lazy("local")  # created by an administrator
        MANAGED = 2, gettext_lazy("managed")  # created by a subscription
        # Created by a client, from a model queue or for its own use.
        TEMPORARY = 3, gettext_lazy("temporary")
        # Created by the broker for its own work; deliveries are not limited.
        INTERNAL = 4, gettext_lazy("internal")

    name = models.CharField(max_length=255)
    kind = models.PositiveSmallIntegerField(
        choices=Kind, default=Kind.LOCAL, db_default=Kind.LOCAL, editable=False
    )
    address = models.ForeignKey(Address, models.PROTECT, related_name="queues")
    routing_type = models.PositiveSmallIntegerField(
        choices=RoutingType,
        default=RoutingType.ANYCAST,
        db_default=RoutingType.ANYCAST,
    )
    paused = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy("A paused queue accepts messages and delivers none."),
    )
    # Time at which delivery resumes; null: it is paused until a user resumes it, or is
    # not paused.
    paused_until = MomentField(null=True, editable=False)
    put_inhibited = models.BooleanField(
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "A put-inhibited queue delivers messages and accepts none."
        ),
    )
    harden_backout = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy(
            "Backout counts survive a restart of the broker (HARDENBO)."
        ),
    )
    counts_when_lost = models.TextField(
        choices=CountsWhenLost,
        default=CountsWhenLost.ALL,
        db_default=CountsWhenLost.ALL,
        help_text=gettext_lazy(
            "If a client is lost: which of its deliveries count as backed out."
            " Only the oldest: a message that kills its consumer still reaches the"
            " threshold, and prefetched messages keep their counts."
        ),
    )
    max_resubmits = models.PositiveIntegerField(
        default=3,
        db_default=3,
        help_text=gettext_lazy(
            "How often one message may be resubmitted to this queue. Dead"
            " letters above the limit are left out of a plan to resubmit. 0: no limit."
        ),
    )
    reason_above = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "An operation on more messages of this queue needs a reason. Empty:"
            " the same as for other queues."
        ),
    )
    approval_above = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "An operation on more messages of this queue needs the approval of a"
            " second person. Empty: never."
        ),
    )
    stopped = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text=gettext_lazy(
            "Delivery to ConnectionConsumers has stopped; the stoppage has the reason."
        ),
    )
    selector = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy(
            "The queue accepts only messages that match this selector."
        ),
    )
    guarded = models.GeneratedField(
        expression=Q(put_inhibited=True)  # type: ignore[arg-type]
        | Q(max_depth__isnull=False)
        | Q(max_message_bytes__isnull=False)
        | ~Q(selector=""),
        output_field=models.BooleanField(),
        db_persist=True,
    )  # whether a put must check limits or the selector
    description = models.TextField(
        blank=True,
        default="",
        db_default="",
        max_length=1000,
        help_text=gettext_lazy("The purpose of the queue, in one or two sentences."),
    )
    contact = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy(
            "The contact for problems: a team, a person, or a channel."
        ),
    )
    runbook = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        validators=[URLValidator(schemes=["http", "https"])],
        help_text=gettext_lazy("A link to instructions for problems."),
    )
    auto_created = models.BooleanField(default=False, db_default=False, editable=False)
    # Since when an auto-created queue is idle; null for other queues.
    idle_since = MomentField(null=True, editable=False)
    created_at = MomentField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint("name", name="one_queue_a_name"),
            models.CheckConstraint(
                name="thresholds_have_nine_digits",
                condition=Q(backout_threshold__lte=HIGHEST_THRESHOLD),
            ),
            models.CheckConstraint(
                name="only_a_pause_has_an_end",
                condition=Q(paused=True) | Q(paused_until__isnull=True),
            ),
        ]
        indexes = [
            models.Index(
                "paused_until",
                name="broker_queue_paused_until",
                condition=Q(paused_until__isnull=False),
            )
        ]
        permissions = [
            ("browse_queue", "Can read the messages on queues"),
            ("resubmit_message", "Can send dead letters back to where they came from"),
            ("pause_queue", "Can pause and resume queues"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save. A queue that is not paused has no end of a pause, whoever resumed
        it."""
        if not self.paused:
            self.paused_until = None
        super().save(*args, **kwargs)

    @property
    def has_runbook(self) -> bool:
        """Whether the queue has a link to a runbook, over HTTP or HTTPS."""
        return self.runbook.startswith(("http://", "https://"))


class ModelQueue(Limits):
    """A template for queues that the broker creates. Later changes of the template do
    not change these queues."""

    name = models.CharField(max_length=255)
    permanent = models.BooleanField(
        default=False,
        help_text=gettext_lazy(
            "Queues created from it survive the client that requested them."
        ),
    )

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint("name", name="one_model_a_name")]

    def __str__(self) -> str:
        return self.name


class QueueAlias(models.Model):
    """Another name of a queue, or of the queues that an address feeds."""

    name = models.CharField(max_length=255)
    target = models.CharField(
        max_length=255,
        help_text=gettext_lazy("The queue or address that the alias stands for."),
    )

    class Meta:
        verbose_name_plural = gettext_lazy("queue aliases")
        ordering = ["name"]
        constraints = [models.UniqueConstraint("name", name="one_alias_a_name")]

    def __str__(self) -> str:
        return self.name
