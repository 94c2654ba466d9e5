"""Rules and alerts in words, and the page where one acts."""

from __future__ import annotations

from django import template
from django.urls import reverse

from broker.formats.quantities import write_count, write_duration
from broker.models import Alert, AlertRule

register = template.Library()
Condition = AlertRule.Condition
WORDS = {
    Condition.DEPTH: "a queue has {count} or more messages",
    Condition.AGE: "the oldest message has waited {time} or more",
    Condition.NOT_CONSUMED: "messages are ready, and no consumer takes any",
    Condition.STOPPED: "delivery to consumers has stopped",
    Condition.DEAD_LETTERS: "a queue has {count} or more dead letters",
    Condition.GROWTH: "a group has {count} or more new dead letters within {within}",
    Condition.NEW_CAUSE: "a dead letter of a cause not known before {within}",
    Condition.LINK: "a link has failed, or transfers nothing",
    Condition.APPROVAL: "an operation waits for an approval",
    Condition.DISK: "{count} % of the disk or more are in use",
    Condition.REPORTS: "reports of the night are not done in the morning",
}

PLACES = {
    Condition.STOPPED: ("console:consumers", "See why, and start it again"),
    Condition.LINK: ("console:bridges", "See the links"),
    Condition.APPROVAL: ("console:operations", "See the operations"),
    Condition.DISK: ("console:health", "See the disk"),
    Condition.REPORTS: ("dashboards:reports", "See the reports"),
}


@register.filter
def condition(rule: AlertRule) -> str:
    """When a rule fires, in words."""
    said = WORDS[Condition(rule.condition)].format(
        count=write_count(rule.threshold),
        time=write_duration(rule.threshold),
        within=write_duration(rule.within_s),
    )
    return f"{said}, for {write_duration(rule.for_s)}" if rule.for_s else said


@register.filter
def place_of(alert: Alert) -> tuple[str, str]:
    """The page where somebody acts on what an alert is about, and the link's label."""
    if alert.fingerprint:
        url = reverse("console:dead_letter_group", args=[alert.fingerprint])
        return url, "See the group"
    if alert.condition in PLACES:
        view, label = PLACES[Condition(alert.condition)]
        return reverse(view), label
    return reverse("console:queue", args=[alert.queue]), "See the queue"
