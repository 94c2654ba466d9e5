"""Samples of what queues and links did over time, for charts."""

from __future__ import annotations

from django.db import models

from broker.models.moment_field import MomentField


class HistorySample(models.Model):
    """All queues and links in one period: one row, whatever their number.

    ``counts`` is packed by ``broker.monitoring.history.packing``. It has only queues
    and links that were not empty and idle. Periods without a row are unknown, but for
    those in which nothing changed (``broker.monitoring.history.sampling``).
    """

    pk = models.CompositePrimaryKey("period_s", "at")
    period_s = models.SmallIntegerField()  # length of the period: that of a level
    at = MomentField()  # the end of the period, a multiple of its length
    # Seconds since the sample before. The counts cover all of this time.
    span_s = models.IntegerField()
    counts = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.period_s} s until {self.at}"


class HistoryTotals(models.Model):
    """The counters at the last sample, from which the next one is the difference. One
    row, which is also the lock of samplers."""

    id = models.SmallIntegerField(primary_key=True, default=1, db_default=1)
    at = MomentField()
    counts = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(name="totals_are_one_row", condition=models.Q(id=1))
        ]

    def __str__(self) -> str:
        return f"totals at {self.at}"
