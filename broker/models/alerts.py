"""Alerts: rules that find problems, the targets that are notified, and all events."""

from __future__ import annotations

from typing import ClassVar
from zoneinfo import available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from broker.formats.wildcards import check_pattern
from broker.models.fields import CheckedCharField
from broker.models.moment_field import MomentField
from broker.models.redaction import NAME

USER = settings.AUTH_USER_MODEL


def check_zone(name: str) -> None:
    """Refuse a text that is no name of a time zone."""
    if name not in available_timezones():
        raise ValidationError("Give the name of a time zone, such as Europe/Berlin.")


class AlertTarget(models.Model):
    """Where notifications go: mail addresses, or a service by HTTPS."""

    class Kind(models.TextChoices):
        EMAIL = "email", gettext_lazy("e-mail")
        WEBHOOK = "webhook", gettext_lazy("webhook")
        SLACK = "slack", gettext_lazy("Slack")
        PAGERDUTY = "pagerduty", gettext_lazy("PagerDuty")

    name = models.CharField(max_length=60, validators=[NAME])
    kind = models.CharField(max_length=10, choices=Kind)
    address = models.CharField(
        max_length=500,
        blank=True,
        default="",
        help_text=gettext_lazy(
            "E-mail: addresses, separated by commas. Webhook: the URL, with"
            " https. Slack: empty. PagerDuty: empty, or the URL of another region."
        ),
    )
    # Encrypted. Of a webhook, the key of its signatures; of Slack, the URL; of
    # PagerDuty, the integration key.
    secret = models.TextField(blank=True, default="", editable=False)
    enabled = models.BooleanField(default=True, db_default=True)
    quiet_from = models.TimeField(
        null=True,
        blank=True,
        help_text=gettext_lazy("Begin of the quiet hours, such as 22:00."),
    )
    quiet_until = models.TimeField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "Their end, such as 07:00. What happens in quiet hours and still"
            " holds at their end is told then."
        ),
    )
    zone = CheckedCharField(
        gettext_lazy("time zone"),
        max_length=60,
        default="UTC",
        db_default="UTC",
        validators=[check_zone],
        help_text=gettext_lazy("The time zone of the quiet hours."),
    )
    critical_passes = models.BooleanField(
        default=True,
        db_default=True,
        help_text=gettext_lazy("Critical alerts are told in quiet hours too."),
    )
    # Time of the last notification that was delivered.
    told_at = MomentField(null=True, editable=False)
    error = models.TextField(blank=True, default="", editable=False)
    # Time of the last error; null: no error since the last delivery.
    error_at = MomentField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint("name", name="one_alert_target_a_name"),
            models.CheckConstraint(
                name="quiet_hours_have_two_ends",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                violation_error_message=gettext_lazy(
                    "Give both ends of the quiet hours, or none."
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AlertRule(models.Model):
    """A condition with its threshold, its severity, and the targets that are
    notified."""

    class Condition(models.TextChoices):
        """What is measured. The label is read after a name of a queue."""

        DEPTH = "depth", gettext_lazy("depth of a queue")
        AGE = "age", gettext_lazy("age of the oldest message")
        NOT_CONSUMED = "not_consumed", gettext_lazy("messages wait and nobody consumes")
        STOPPED = "delivery_stopped", gettext_lazy("delivery to consumers has stopped")
        DEAD_LETTERS = "dead_letters", gettext_lazy("dead letters in a queue")
        GROWTH = "dead_letter_growth", gettext_lazy("growth of a dead-letter group")
        NEW_CAUSE = "new_cause", gettext_lazy("dead letters of a new cause")
        LINK = "link_failed", gettext_lazy("a bridge link failed or tries again")
        APPROVAL = "approval", gettext_lazy("an operation waits for an approval")
        DISK = "disk", gettext_lazy("share of the disk in use")
        REPORTS = "reports_late", gettext_lazy("reports of the night are not done")
        LATE = "delayed_late", gettext_lazy("delayed messages are late")
        UNIT = (
            "unit_lost",
            gettext_lazy("a unit of work lost its process or its deadline"),
        )
        PAUSED = "paused", gettext_lazy("a queue is paused")
        IN_DOUBT = "in_doubt", gettext_lazy("transactions of a link are in doubt")
        PREPARED = "prepared", gettext_lazy("units of work wait for a coordinator")
        SILENT = "process_silent", gettext_lazy("a process does not answer")
        PASSWORD = "password_lost", gettext_lazy("the key of a password is lost")
        SETTINGS = "settings", gettext_lazy("settings that lose or block messages")
        UNATTENDED = (
            "reports_unattended",
            gettext_lazy("no process takes reports that wait"),
        )
        GROUP = "group_missing", gettext_lazy("a group of the second factor is missing")

    class Severity(models.TextChoices):
        WARNING = "warning", gettext_lazy("Warning")
        CRITICAL = "critical", gettext_lazy("Critical")

    name = models.CharField(max_length=60, validators=[NAME])
    condition = models.CharField(max_length=20, choices=Condition)
    queues = CheckedCharField(
        max_length=255,
        default="#",
        db_default="#",
        validators=[check_pattern],
        help_text=gettext_lazy(
            "Queues, by name or pattern: * is one word, # at the end any words."
            " For dead-letter groups, the queues from which the messages came. No"
            " meaning for links, approvals, the disk and reports."
        ),
    )
    # Number of messages; seconds for the condition AGE, percent for DISK; 0 if the
    # condition has no threshold.
    threshold = models.PositiveBigIntegerField(default=0, db_default=0)
    within_s = models.PositiveIntegerField(
        default=3600, db_default=3600, validators=[MinValueValidator(60)]
    )  # period in which the conditions GROWTH and NEW_CAUSE search
    for_s = models.PositiveIntegerField(default=0, db_default=0)
    severity = models.CharField(
        max_length=8, choices=Severity, default=Severity.WARNING
    )
    targets = models.ManyToManyField(
        AlertTarget,
        blank=True,
        related_name="+",
        help_text=gettext_lazy("They are told at once."),
    )
    escalate_to = models.ManyToManyField(
        AlertTarget,
        blank=True,
        related_name="+",
        help_text=gettext_lazy(
            "They are told if nobody has acknowledged the alert by then."
        ),
    )
    escalate_after_s = models.PositiveIntegerField(default=900, db_default=900)
    repeat_s = models.PositiveIntegerField(default=14_400, db_default=14_400)
    enabled = models.BooleanField(default=True, db_default=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint("name", name="one_alert_rule_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """One problem that a rule found: the rule, its subject, and how far it is.

        pending ──held long enough──▶ firing ──▶ acknowledged
           │                            │              │
       (deleted)                        └──▶ resolved ◀┘

    A silence is not a state: it holds back notifications, not the alert.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        FIRING = "firing"
        ACKNOWLEDGED = "acknowledged"
        RESOLVED = "resolved"

    rule = models.ForeignKey(
        AlertRule, models.SET_NULL, null=True, related_name="alerts"
    )
    rule_name = models.TextField()
    condition = models.TextField()
    severity = models.TextField()
    subject = models.TextField()  # queue, link, cause, operation or path
    # Name of the queue; empty: no queue. Users who may inquire the queue see the alert.
    queue = models.TextField(default="")
    # Fingerprint, if the alert is about dead letters with the same error.
    fingerprint = models.TextField(default="")
    state = models.TextField(choices=State)
    text = models.TextField()  # what is wrong, a sentence
    value = models.BigIntegerField()
    mark = models.BigIntegerField(null=True)  # written by earlier versions; not read
    first_seen_at = MomentField()
    last_seen_at = MomentField()
    fired_at = MomentField(null=True)
    acknowledged_at = MomentField(null=True)
    acknowledged_by = models.TextField(default="")
    resolved_at = MomentField(null=True)
    # Whether it is resolved, and no target must still be notified of that.
    is_settled = models.BooleanField(default=False)

    OPEN: ClassVar = (State.PENDING, State.FIRING, State.ACKNOWLEDGED)
    STANDING: ClassVar = (State.FIRING, State.ACKNOWLEDGED)

    class Meta:
        default_permissions = ()
        permissions = [("operate_alert", "Can acknowledge and silence alerts")]
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "subject"],
                condition=~Q(state="resolved"),
                name="a_subject_has_one_open_alert",
            ),
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=Q(is_settled=False),
                name="broker_alert_unsettled",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule_name}: {self.subject}"


class AlertEvent(models.Model):
    """One event of an alert's story; only appended, in the transaction of the act."""

    class Kind(models.TextChoices):
        FIRED = "fired", gettext_lazy("Fired")
        NOTIFIED = "notified", gettext_lazy("notification put")
        DELIVERED = "delivered", gettext_lazy("Delivered")
        FAILED = "failed", gettext_lazy("delivery failed")
        ACKNOWLEDGED = "acknowledged", gettext_lazy("Acknowledged")
        SILENCED = "silenced", gettext_lazy("Silenced")
        UNSILENCED = "unsilenced", gettext_lazy("silence ended")
        RESOLVED = "resolved", gettext_lazy("Resolved")

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="events")
    at = MomentField()
    kind = models.TextField(choices=Kind)
    actor = models.TextField(default="")  # name of a user; empty: the broker
    detail = models.TextField(default="")

    class Meta:
        default_permissions = ()
        ordering = ["id"]


class AlertNotice(models.Model):
    """When one target was notified of one alert."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="notices")
    target = models.ForeignKey(AlertTarget, models.CASCADE, related_name="+")
    told_at = MomentField()  # time of the last notification that the alert fires
    resolved_told_at = MomentField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["alert", "target"], name="one_notice_a_target"
            ),
        ]


class AlertSilence(models.Model):
    """For a time, nobody is notified of alerts that it matches. Empty fields match
    all."""

    rule = models.ForeignKey(AlertRule, models.CASCADE, null=True, related_name="+")
    queues = models.TextField(default="")  # name or pattern of queues; empty: all
    fingerprint = models.TextField(default="")
    reason = models.TextField(default="")
    by = models.TextField()
    begins_at = MomentField(db_default=Now())
    ends_at = MomentField(db_index=True)

    class Meta:
        default_permissions = ()
        ordering = ["ends_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="silences_say_of_what",
                condition=~Q(rule__isnull=True, queues="", fingerprint=""),
            ),
            models.CheckConstraint(
                name="silences_end_after_they_begin",
                condition=Q(ends_at__gte=F("begins_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"silence {self.pk}"
