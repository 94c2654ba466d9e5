"""Notifications to PagerDuty: one incident for each alert.

Source:
    PagerDuty, Events API v2: trigger, acknowledge and resolve with ``dedup_key``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker.alerts.channels.wording import headline, plain
from broker.alerts.outbound import post
from broker.alerts.secrets import secret_of
from broker.models import AlertTarget

URL = "https://events.pagerduty.com/v2/enqueue"
ACTIONS = {
    "alert.firing": "trigger",
    "alert.test": "trigger",
    "alert.acknowledged": "acknowledge",
    "alert.resolved": "resolve",
}
LONGEST = 1024  # most characters of a summary


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    (alert,) = said["alerts"]
    url = alert["url"]
    event = {
        "routing_key": secret_of(target),
        "event_action": ACTIONS[said["type"]],
        # All notifications of an alert have the same key: a repetition makes no new
        # incident.
        "dedup_key": f"{said['broker']}-alert-{alert['id']}"[:255],
        "client": "Backout",
        **(
            {"client_url": url, "links": [{"href": url, "text": "Alert"}]}
            if url
            else {}
        ),
        "payload": {
            "summary": plain(alert["text"])[:LONGEST] or headline(said),
            "source": said["broker"],
            "severity": said["severity"],
            "timestamp": alert["fired_at"] or said["timestamp"],
            "component": alert["queue"] or alert["subject"],
            "group": said["rule"],
            "class": said["condition"],
        },
    }
    body = json.dumps(event, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Backout"}
    return str(post(target.address or URL, body, headers))
