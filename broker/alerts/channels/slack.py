"""Notifications to a channel of Slack, or of what accepts the same, by an incoming
webhook. Its URL is the secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker.alerts.channels.wording import headline, lines
from broker.alerts.outbound import post
from broker.alerts.secrets import secret_of
from broker.models import AlertTarget

# Slack's control characters: untrusted text must neither link nor mention anybody.
ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    text = "\n".join([headline(said), *lines(said)]).translate(ESCAPED)
    body = json.dumps({"text": text}, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Backout"}
    return str(post(secret_of(target), body, headers))
