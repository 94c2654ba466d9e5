"""Address settings: rules for the addresses that match a pattern, as in ActiveMQ
Artemis."""

from __future__ import annotations

import math

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from broker.formats.wildcards import check_match, configured
from broker.models.fields import CheckedCharField, CheckedFloatField

NOT_NEGATIVE = MinValueValidator(
    0, gettext_lazy("This cannot be negative. Give 0 for none.")
)
UNSET_OR_MORE = MinValueValidator(
    -1,
    gettext_lazy("This cannot be below -1. Give milliseconds from 0, or -1 for none."),
)
ATTEMPTS = MinValueValidator(
    -1,
    gettext_lazy("This cannot be below -1. Give a number from 1, or -1 for no limit."),
)


def check_multiplier(value: float) -> None:
    """Refuse a multiplier of redelivery delays that is not positive.

    Raises:
        ValidationError: the value is 0 or below, or not a finite number.
    """
    if not (math.isfinite(value) and value > 0):
        raise ValidationError(
            "The multiplier must be above 0. Give 1 for delays that stay the same, or"
            " more for delays that grow."
        )


def check_factor(value: float) -> None:
    """Refuse a collision avoidance factor out of range.

    Raises:
        ValidationError: the value is not from 0 to 1.
    """
    if not 0 <= value <= 1:
        raise ValidationError(
            "The collision avoidance factor must be from 0 to 1. Give 0 for none, or"
            " 0.5 to spread each delay by up to half of it."
        )


class AddressSetting(models.Model):
    """Policy for every address that a pattern matches.

    A field that is null is not defined here: a less specific setting decides it, or
    finally ``config.address_settings.DEFAULTS``. An empty dead letter address *is*
    defined: it means that there is none.
    """

    class PoisonPolicy(models.TextChoices):
        """Which part moves poison messages away, and when."""

        ARTEMIS = "artemis", gettext_lazy("the broker, at the last backout")
        IBM = "ibm", gettext_lazy("the consumer, at the next get (BOTHRESH)")
        BOTH = "both", gettext_lazy("whichever comes first")
        NONE = "none", gettext_lazy("nobody")

    match = CheckedCharField(
        max_length=255,
        validators=[check_match],
        help_text=gettext_lazy(
            "Words separated by dots; * matches one word, # at the end matches"
            " any number of words."
        ),
    )
    max_delivery_attempts = models.IntegerField(
        null=True,
        blank=True,
        validators=[ATTEMPTS],
        help_text=gettext_lazy(
            "Deliveries before a message becomes a dead letter; -1: no limit."
            " Default: 10."
        ),
    )
    dead_letter_address = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The address for poison messages, where people can inspect them."
            " Set, but without an address: they are discarded."
        ),
    )
    redelivery_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[NOT_NEGATIVE],
        help_text=gettext_lazy(
            "The time until a backed out message is redelivered, in"
            " milliseconds. It gives the client time to recover, and prevents endless"
            " immediate redelivery of a message that always fails (thrashing). Other"
            " messages are delivered meanwhile. 0: no delay."
        ),
    )
    redelivery_delay_multiplier = CheckedFloatField(
        null=True,
        blank=True,
        validators=[check_multiplier],
        help_text=gettext_lazy(
            "The delay is multiplied by this after each further backout, so that"
            " redeliveries to a client that stays down become rarer. 1: constant delay."
        ),
    )
    redelivery_collision_avoidance_factor = CheckedFloatField(
        null=True,
        blank=True,
        validators=[check_factor],
        help_text=gettext_lazy(
            "From 0 to 1: each delay becomes longer or shorter by a random share"
            " up to this factor. So consumers that collided on the same resource do not"
            " retry at the same time. A larger factor gives a wider spread."
        ),
    )
    max_redelivery_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[NOT_NEGATIVE],
        help_text=gettext_lazy(
            "The longest delay, in milliseconds. Default: ten times the"
            " redelivery delay."
        ),
    )
    expiry_address = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The address for expired messages. Set, but without an address: they"
            " are discarded."
        ),
    )
    poison_policy = models.CharField(
        max_length=8,
        null=True,
        blank=True,
        choices=PoisonPolicy,
        help_text=gettext_lazy(
            "Default: ibm if the queue has a backout threshold, otherwise artemis."
        ),
    )
    discard_retention_s = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[NOT_NEGATIVE],
        help_text=gettext_lazy(
            "How long a discarded message can be restored, in seconds; 0: not at all."
        ),
    )
    message_retention_s = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[NOT_NEGATIVE],
        help_text=gettext_lazy(
            "How long a message that was sent to the address stays readable"
            " after it has ended, in seconds. A longer time than that of the broker"
            " (BROKER_MESSAGE_RETENTION_DAYS, the default) counts from the put."
        ),
    )
    send_to_dla_on_no_route = models.BooleanField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "Messages that reach no queue go to the dead letter address instead"
            " of being lost."
        ),
    )
    auto_create_dead_letter_resources = models.BooleanField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The first dead letter creates the dead letter address, and one"
            " queue for each address that dead letters come from. So dead letters of"
            " different addresses are separate, and no settings or queues need to be"
            " created by hand."
        ),
    )
    dead_letter_queue_prefix = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The prefix of the names of these queues, before the address. Default: DLQ."
        ),
    )
    dead_letter_queue_suffix = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The suffix of the names of these queues, after the address."
        ),
    )
    auto_create_expiry_resources = models.BooleanField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The same for the expiry address: expired messages are separate for"
            " each address that they were sent to."
        ),
    )
    expiry_queue_prefix = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The prefix of the names of these queues, before the address. Default: EXP."
        ),
    )
    expiry_queue_suffix = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "The suffix of the names of these queues, after the address."
        ),
    )
    auto_delete_queues_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[NOT_NEGATIVE],
        help_text=gettext_lazy(
            "How long an empty auto-created queue is kept, in milliseconds. The"
            " next message for it creates it again."
        ),
    )
    no_expiry = models.BooleanField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "Messages never expire, whatever expiry the sender set."
        ),
    )
    expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[UNSET_OR_MORE],
        help_text=gettext_lazy(
            "The expiry of messages that arrive without one, in milliseconds; -1: none."
        ),
    )
    min_expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[UNSET_OR_MORE],
        help_text=gettext_lazy(
            "The minimum expiry, in milliseconds; also given to messages that"
            " never expire. -1: none."
        ),
    )
    max_expiry_delay_ms = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[UNSET_OR_MORE],
        help_text=gettext_lazy(
            "The maximum expiry, in milliseconds; also given to messages that"
            " never expire. -1: none."
        ),
    )
    rules_arrivals = models.GeneratedField(
        expression=Q(no_expiry__isnull=False)  # type: ignore[arg-type]
        | Q(expiry_delay_ms__isnull=False)
        | Q(min_expiry_delay_ms__isnull=False)
        | Q(max_expiry_delay_ms__isnull=False),
        output_field=models.BooleanField(),
        db_persist=True,
    )  # whether a put must apply the setting to the expiry of a message

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
        """Refuse an address that is its own dead letter address (DLA-8)."""
        own = configured().literal(self.match) or self.match
        if self.dead_letter_address and self.dead_letter_address == own:
            raise ValidationError(
                {
                    "dead_letter_address": "An address cannot be its own dead letter"
                    " address: its dead letters would go round for ever."
                }
            )
