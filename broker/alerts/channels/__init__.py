"""The ways of a notification: one module for each kind of target.

Each has ``send(target, said, key)``: it returns what the other side answered, or raises
``NotDelivered`` or ``AddressRefused``. ``said`` is the document of the notification
(``notifications.document``); ``key`` stays the same when it is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker.alerts.channels import mail, pagerduty, slack, webhook
from broker.models import AlertTarget

Kind = AlertTarget.Kind
Send = Callable[[AlertTarget, Mapping[str, Any], str], str]

CHANNELS: Mapping[Kind, Send] = {
    Kind.EMAIL: mail.send,
    Kind.WEBHOOK: webhook.send,
    Kind.SLACK: slack.send,
    Kind.PAGERDUTY: pagerduty.send,
}


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    """Send a notification to a target; return what the other side answered.

    Raises:
        NotDelivered, AddressRefused: it was not taken.
    """
    return CHANNELS[Kind(target.kind)](target, said, key)
