"""Rules and alerts in words, and the page where one acts."""

from __future__ import annotations

from django import template

from broker.formats.quantities import write_count, write_duration
from broker.models import AlertRule
from broker.problems.conditions import table
from console.alerts import places

register = template.Library()
register.filter("place_of", places.of_alert)


@register.filter
def condition(rule: AlertRule) -> str:
    """When a rule fires, in words."""
    # None: the application of the condition is not installed
    row = table().get(rule.condition)
    said = (row.when if row else rule.condition).format(
        count=write_count(rule.threshold),
        time=write_duration(rule.threshold),
        within=write_duration(rule.within_s),
    )
    return f"{said}, for {write_duration(rule.for_s)}" if rule.for_s else said
