"""Addresses, the queues they feed, and the settings that rule both."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from broker.wildcards import check_pattern


class RoutingType(models.IntegerChoices):
    """How an address hands a message to its queues; the numbers are Artemis'."""

    MULTICAST = 0, "multicast: every queue"
    ANYCAST = 1, "anycast: one queue"


class Address(models.Model):
    """A name that producers send to."""

    name = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "addresses"
        constraints = [models.UniqueConstraint("name", name="one_address_a_name")]

    def __str__(self) -> str:
        return self.name


class Queue(models.Model):
    """A named store that an address feeds."""

    name = models.CharField(max_length=255)
    address = models.ForeignKey(Address, models.PROTECT, related_name="queues")
    routing_type = models.PositiveSmallIntegerField(
        choices=RoutingType,
        default=RoutingType.ANYCAST,
        db_default=RoutingType.ANYCAST,
    )
    paused = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A paused queue takes messages and gives none.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint("name", name="one_queue_a_name")]
        permissions = [
            ("browse_queue", "Can read the messages on queues"),
            ("resubmit_message", "Can send dead letters back to where they came from"),
            ("pause_queue", "Can pause and resume queues"),
        ]

    def __str__(self) -> str:
        return self.name


class AddressSetting(models.Model):
    """Policy for every address that a pattern matches.

    A field that is null is not defined here: a less specific setting decides it, or in
    the end ``addresses.DEFAULTS``. An empty dead letter address *is* defined: it means
    that there is none.
    """

    match = models.CharField(
        max_length=255,
        validators=[check_pattern],
        help_text="Words separated by dots; * is any one word, # at the end any words.",
    )
    max_delivery_attempts = models.IntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(-1)],
        help_text="Deliveries before a message is a dead letter; -1 is no limit.",
    )
    dead_letter_address = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        help_text="Where poison messages go; defined and empty means nowhere.",
    )
    redelivery_delay_ms = models.BigIntegerField(
        null=True, blank=True, validators=[MinValueValidator(0)]
    )
    redelivery_delay_multiplier = models.FloatField(null=True, blank=True)
    redelivery_collision_avoidance_factor = models.FloatField(null=True, blank=True)
    max_redelivery_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="Not defined: ten times the redelivery delay.",
    )
    expiry_address = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        help_text="Where expired messages go; defined and empty means nowhere.",
    )

    class Meta:
        ordering = ["match"]
        constraints = [
            models.UniqueConstraint("match", name="one_setting_a_pattern"),
            models.CheckConstraint(
                name="attempts_are_a_number_or_unlimited",
                condition=Q(max_delivery_attempts__gte=-1),
            ),
            models.CheckConstraint(
                name="multipliers_are_positive",
                condition=Q(redelivery_delay_multiplier__gt=0),
            ),
            models.CheckConstraint(
                name="collision_avoidance_is_a_share",
                condition=Q(
                    redelivery_collision_avoidance_factor__gte=0,
                    redelivery_collision_avoidance_factor__lte=1,
                ),
            ),
            models.CheckConstraint(
                name="delays_are_not_negative",
                condition=(
                    Q(redelivery_delay_ms__isnull=True) | Q(redelivery_delay_ms__gte=0)
                )
                & (
                    Q(max_redelivery_delay_ms__isnull=True)
                    | Q(max_redelivery_delay_ms__gte=0)
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.match

    def clean(self) -> None:
        """Refuse a dead letter address that feeds itself: a loop (DLA-8)."""
        if self.dead_letter_address and self.dead_letter_address == self.match:
            raise ValidationError(
                {
                    "dead_letter_address": "An address cannot be its own dead letter"
                    " address: its dead letters would go round for ever."
                }
            )
