"""Notifications by e-mail, sent as Django's settings for mail say."""

from __future__ import annotations

import smtplib
from collections.abc import Mapping
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from broker.alerts.channels.wording import headline, lines
from broker.errors.alerts import NotDelivered
from broker.models import AlertTarget

TIMEOUT_S = 10


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    first = said["alerts"][0]["id"]
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].partition("@")[2] or "localhost"
    thread = f"<backout-alert-{first}@{domain}>"
    footer = f"Rule {said['rule']}, {said['severity']}, at {said['timestamp']}."
    mail = EmailMessage(
        headline(said),
        "\n".join([*lines(said), "", footer, ""]),
        to=addresses(target),
        headers={
            "Message-ID": f"<{key}@{domain}>",
            "References": thread,  # one thread for each alert
            "Auto-Submitted": "auto-generated",
        },
        connection=get_connection(timeout=settings.EMAIL_TIMEOUT or TIMEOUT_S),
    )
    try:
        mail.send()
    except (smtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"The mail server did not take it: {error}") from None
    return f"The mail server took it for {', '.join(mail.to)}."


def addresses(target: AlertTarget) -> list[str]:
    """The mail addresses of a target."""
    return [one.strip() for one in target.address.split(",") if one.strip()]
