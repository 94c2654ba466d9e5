"""Notifications by e-mail, sent as Django's settings for mail say."""

from __future__ import annotations

import smtplib
from collections.abc import Mapping
from email.utils import parseaddr
from typing import TYPE_CHECKING, Any

from django import VERSION
from django.conf import settings
from django.core.mail import EmailMessage

from broker.alerts.channels.wording import headline, lines
from broker.errors.alerts import NotDelivered
from broker.models import AlertTarget

if TYPE_CHECKING or VERSION >= (6, 1):
    from django.core.mail import mailers
if TYPE_CHECKING or VERSION < (6, 1):
    from django.core.mail import get_connection

TIMEOUT_S = 10


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    first = said["alerts"][0]["id"]
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].partition("@")[2] or "localhost"
    thread = f"<backout-alert-{first}@{domain}>"
    footer = f"{said['severity'].capitalize()}, at {said['timestamp']}."
    mail = EmailMessage(
        headline(said),
        "\n".join([*lines(said), "", footer, ""]),
        to=addresses(target),
        headers={
            "Message-ID": f"<{key}@{domain}>",
            "References": thread,  # one thread for each alert
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        connection().send_messages([mail])
    except (smtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"The mail server did not take it: {error}") from None
    return f"The mail server took it for {', '.join(mail.to)}."


def connection() -> Any:
    """The project's way to its mail server, which does not wait for ever: ``MAILERS``
    from Django 6.1 on, or the settings ``EMAIL_…``."""
    if VERSION < (6, 1):
        return get_connection(timeout=settings.EMAIL_TIMEOUT or TIMEOUT_S)
    found: Any = mailers.default
    if getattr(found, "timeout", TIMEOUT_S) is None:
        found.timeout = TIMEOUT_S
    return found


def addresses(target: AlertTarget) -> list[str]:
    """The mail addresses of a target."""
    return [one.strip() for one in target.address.split(",") if one.strip()]
