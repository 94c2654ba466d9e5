"""The settings of addresses: policy by pattern, as ActiveMQ Artemis has it."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from broker.wildcards import check_pattern


class AddressSetting(models.Model):
    """Policy for every address that a pattern matches.

    A field that is null is not defined here: a less specific setting decides it, or in
    the end ``addresses.DEFAULTS``. An empty dead letter address *is* defined: it means
    that there is none.
    """

    class PoisonPolicy(models.TextChoices):
        """Who moves poison messages away, and when."""

        ARTEMIS = "artemis", "the broker, at the last backout"
        IBM = "ibm", "the consumer, at the next get (BOTHRESH)"
        BOTH = "both", "whichever comes first"
        NONE = "none", "nobody"

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
    poison_policy = models.CharField(
        max_length=8,
        null=True,
        blank=True,
        choices=PoisonPolicy,
        help_text="Not defined: ibm where the queue has a threshold, else artemis.",
    )
    discard_retention_s = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="How long a discarded message can be restored; 0 is not at all.",
    )
    send_to_dla_on_no_route = models.BooleanField(
        null=True,
        blank=True,
        help_text="What reaches no queue goes to the dead letter address.",
    )
    auto_create_dead_letter_resources = models.BooleanField(
        null=True,
        blank=True,
        help_text="The first dead letter makes the address, and a queue for each"
        " address that letters come from, so that they lie apart by origin.",
    )
    dead_letter_queue_prefix = models.CharField(max_length=100, null=True, blank=True)
    dead_letter_queue_suffix = models.CharField(max_length=100, null=True, blank=True)
    auto_create_expiry_resources = models.BooleanField(
        null=True,
        blank=True,
        help_text="The same for the expiry address.",
    )
    expiry_queue_prefix = models.CharField(max_length=100, null=True, blank=True)
    expiry_queue_suffix = models.CharField(max_length=100, null=True, blank=True)
    auto_delete_queues_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="How long a queue that made itself stays when it is empty.",
    )
    no_expiry = models.BooleanField(
        null=True, blank=True, help_text="What arrives never expires."
    )
    expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(-1)],
        help_text="For what arrives without an expiry; -1 is none.",
    )
    min_expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(-1)],
        help_text="What would expire sooner, or never, is given this; -1 is none.",
    )
    max_expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(-1)],
        help_text="What would expire later, or never, is given this; -1 is none.",
    )
    rules_arrivals = models.GeneratedField(
        expression=Q(no_expiry__isnull=False)  # type: ignore[arg-type]
        | Q(expiry_delay_ms__isnull=False)
        | Q(min_expiry_delay_ms__isnull=False)
        | Q(max_expiry_delay_ms__isnull=False),
        output_field=models.BooleanField(),
        db_persist=True,
    )  # a put has to look before it puts

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
