"""IBM MQ's codes with their names, and causes of dead letters as text."""

from __future__ import annotations

from django import template

from broker.errors.mq_codes import Feedback, Reason
from broker.models import DeadLetter

register = template.Library()

NAMES = {int(code): code.name for code in (*Feedback, *Reason)}
CAUSES = {cause.value: cause for cause in DeadLetter.Cause}


@register.filter
def reason(code: int | None) -> str:
    """A reason or feedback code: its number and its name, if known."""
    if not code:
        return ""
    return f"{code} {NAMES[code]}" if code in NAMES else str(code)


@register.filter
def cause(value: str) -> str:
    """Why a message is a dead letter."""
    return str(CAUSES[value].label) if value in CAUSES else value
