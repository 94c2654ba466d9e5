"""Messages that the broker puts by itself, again and again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from broker.formats import recurrence, strict_json
from broker.models.moment_field import MomentField
from broker.sql import database_now


def check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValidationError(
            f"There is no time zone {name}. Write one as Europe/Berlin."
        ) from None


def check_crontab(line: str) -> None:
    try:
        recurrence.check_crontab(line)
    except ValueError as error:
        raise ValidationError(str(error)) from None


class RecurringMessage(models.Model):
    """A message, and when it is put. The housekeeping puts it once for each time."""

    name = models.CharField(
        max_length=100,
        help_text=gettext_lazy("Its name here, and in the messages' property."),
    )
    address = models.CharField(
        max_length=255,
        help_text=gettext_lazy("The queue or address that the message is sent to."),
    )
    body = models.TextField(blank=True, default="")
    content_type = models.CharField(max_length=255, default="text/plain; charset=utf-8")
    subject = models.CharField(
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy("Its type, as JMS calls it (JMSType)."),
    )
    properties = models.JSONField(
        blank=True,
        default=dict,
        help_text=gettext_lazy(
            'A JSON object of further properties, as {"tenant": "t7"}.'
        ),
    )
    priority = models.PositiveSmallIntegerField(
        default=4,
        validators=[MaxValueValidator(9)],
        help_text=gettext_lazy("0 to 9; 9 is first."),
    )
    crontab = models.CharField(
        max_length=100,
        blank=True,
        default="",
        validators=[check_crontab],
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month and day of the week, as"
            " 0 6 * * 1-5; or give an interval."
        ),
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        validators=[check_zone],
        help_text=gettext_lazy("Of the crontab line, as Europe/Berlin."),
    )
    every_s = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=gettext_lazy("The interval in seconds, in place of a crontab line."),
    )
    is_enabled = models.BooleanField(
        default=True,
        help_text=gettext_lazy("If it is off, nothing is put until it is on again."),
    )
    next_at = MomentField(null=True, editable=False)
    last_at = MomentField(null=True, editable=False)  # when the last message was due
    last_message_id = models.BigIntegerField(null=True, editable=False)
    # Why the last message was not put; empty: it was put.
    problem = models.TextField(blank=True, default="", editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint("name", name="one_recurring_message_a_name"),
            models.CheckConstraint(
                name="it_recurs_by_one_rule",
                condition=Q(crontab="", every_s__gt=0)
                | (~Q(crontab="") & Q(every_s__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(
                "next_at",
                name="broker_recurring_next",
                condition=Q(next_at__isnull=False),
            )
        ]
        permissions = [
            ("put_recurringmessage", "Can put recurring messages at once"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save. If a person has changed the schedule, the next time is computed from
        now on."""
        if kwargs.get("update_fields") is None:
            self.next_at = None
            self.next_at = self.after(database_now()) if self.is_enabled else None
        super().save(*args, **kwargs)

    def clean(self) -> None:
        if bool(self.crontab) == bool(self.every_s):
            raise ValidationError(
                "Give either a crontab line or an interval in seconds."
            )
        if not isinstance(self.properties, dict):
            raise ValidationError(
                {"properties": 'Write a JSON object, as {"tenant": "t7"}.'}
            )
        try:
            strict_json.dumps(self.properties)
        except ValueError as error:
            raise ValidationError({"properties": f"No JSON: {error}."}) from None

    def after(self, at: datetime) -> datetime | None:
        """The first time after a given time at which the message is due; None:
        never."""
        if self.crontab:
            return recurrence.next_by_crontab(self.crontab, self.time_zone, at)
        assert self.every_s
        every = timedelta(seconds=self.every_s)
        return recurrence.next_by_interval(every, self.next_at or at, at)

    @property
    def words(self) -> str:
        """When the message recurs, as text."""
        if not self.crontab:
            return recurrence.every(self.every_s or 0)
        return f"{recurrence.in_words(self.crontab)} {self.time_zone}"
