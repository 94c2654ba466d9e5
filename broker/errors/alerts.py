"""Errors of alerts: acts that are refused, and notifications that do not arrive."""

from __future__ import annotations

from broker.errors import BrokerError


class AlertError(BrokerError):
    """An act on alerts, rules, targets or silences is refused."""

    code = "alert-error"


class NoSuchAlert(AlertError):
    """There is no alert, rule, target or silence of this name or number."""

    code = "no-such-alert"

    kind: str  # alert, alert rule, alert target or silence
    name: str

    sentence = "There is no {kind} {name!r}. It may have been removed."


class NotFiring(AlertError):
    """An alert cannot be acknowledged in its state."""

    code = "not-firing"

    alert: int
    state: str

    sentence = "Alert {alert} is {state}. Only one that fires can be acknowledged."


class InvalidAlert(AlertError):
    """A rule, a target or a silence has a wrong value; nothing was stored."""

    code = "invalid-alert"

    field: str
    why: str

    sentence = "{why}"


class AddressRefused(AlertError):
    """A URL is not one to which notifications are sent."""

    code = "address-refused"

    why: str

    sentence = "{why}"


class NotDelivered(AlertError):
    """The other side did not take a notification. The text names no secret."""

    code = "not-delivered"

    why: str
    permanent: bool = False  # whether another attempt cannot succeed

    sentence = "{why}"
