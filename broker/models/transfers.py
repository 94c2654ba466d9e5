"""What links have under way and did: the decision log, and ids of messages."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy

from broker.models.links import Link
from broker.models.moment_field import MomentField


class Branch(models.Model):
    """The decision log: one row for each two-phase transaction of a link.

    The row is written in the database transaction that does the link's work in this
    broker. It is deleted when both branches are known to have ended.
    """

    class Kind(models.TextChoices):
        """The state of the branch here, and what decides the outcome at the
        provider."""

        DECIDED = (
            "decided",
            gettext_lazy("committed here; to be committed at the other provider"),
        )
        PREPARED = (
            "prepared",
            gettext_lazy("prepared here; the marker at the other provider decides"),
        )

    xid = models.CharField(max_length=200, primary_key=True)
    link = models.ForeignKey(Link, models.CASCADE, related_name="branches")
    kind = models.CharField(max_length=8, choices=Kind)
    messages = models.PositiveIntegerField()
    # Data that the commit needs for journal and counters.
    detail = models.JSONField(default=dict)
    began_at = MomentField()

    class Meta:
        default_permissions = ()
        verbose_name_plural = gettext_lazy("branches")

    def __str__(self) -> str:
        return self.xid


class TransferredMessage(models.Model):
    """The id of a message that a link has already transferred into this broker.

    For duplicate detection; kept for the time and number that the settings give.
    """

    pk = models.CompositePrimaryKey("link_id", "message_id")
    link = models.ForeignKey(Link, models.CASCADE, related_name="+")
    message_id = models.TextField()
    seen_at = MomentField()

    class Meta:
        db_table = "broker_seenmessage"
        default_permissions = ()
        indexes = [
            models.Index(fields=["link", "seen_at"], name="seen_by_link_and_time")
        ]
