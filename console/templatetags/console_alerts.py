"""Rules and alerts in words, and the page where one acts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django import template
from django.utils.translation import gettext

from broker.alerts import owed
from broker.formats.quantities import write_count, write_duration
from broker.models import Alert, AlertRule, AlertSilence
from broker.problems.conditions import table
from console.alerts import places
from console.alerts.causes import CauseRow

register = template.Library()
register.filter("place_of", places.of_alert)


@register.filter
def chip_of(alert: Alert) -> str:
    """The state of the chip of an alert."""
    if alert.state == Alert.State.ACKNOWLEDGED:
        return "held"
    return "dead" if alert.severity == AlertRule.Severity.CRITICAL else "untaken"


@register.filter
def silenced_until(row: CauseRow, silences: Iterable[AlertSilence]) -> datetime | None:
    """Until when nobody is told of a cause; None if an alert of it is not silenced."""
    found = [owed.silence_of(one, silences) for one in row.alerts]
    ends = [one.ends_at for one in found if one]
    return min(ends) if ends and len(ends) == len(found) else None


@register.filter
def condition(rule: AlertRule) -> str:
    """When a rule fires, in words."""
    # None: the application of the condition is not installed
    row = table().get(rule.condition)
    said = (gettext(row.when) if row else rule.condition).format(
        count=write_count(rule.threshold),
        time=write_duration(rule.threshold),
        within=write_duration(rule.within_s),
    )
    if not rule.for_s:
        return said
    words = gettext("%(condition)s, for %(time)s")
    return words % {"condition": said, "time": write_duration(rule.for_s)}
