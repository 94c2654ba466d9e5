"""What is wrong with rules and targets as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from broker.alerts.channels.mail import addresses
from broker.alerts.channels.webhook import key_of
from broker.alerts.outbound import checked
from broker.errors.alerts import AddressRefused, InvalidAlert, NoSuchAlert
from broker.models import AlertRule, AlertTarget
from broker.problems.conditions import table

Condition = AlertRule.Condition
Kind = AlertTarget.Kind
Fault = tuple[str, str]  # the field, and what is wrong with it
SHORTEST_UNTAKEN_S = 60


def faults_of_rule(rule: AlertRule) -> Iterator[Fault]:
    """What is wrong with a rule, beyond the types of its fields."""
    row = table().get(rule.condition)
    low, high = (row and row.threshold) or (0, 2**62)
    if not low <= rule.threshold <= high:
        yield "threshold", f"Give a threshold from {low:,} to {high:,}."
    if rule.condition == Condition.NOT_CONSUMED and rule.for_s < SHORTEST_UNTAKEN_S:
        yield "for_s", "Give at least 1 min: a consumer may just be between messages."


def faults_of_target(target: AlertTarget, secret: str) -> Iterator[Fault]:
    """What is wrong with a target.

    Args:
        target: the target, perhaps not stored yet.
        secret: the new secret; empty: the stored one stays.
    """
    stored = AlertTarget.objects.filter(pk=target.pk).first() if target.pk else None
    if target.kind == Kind.EMAIL:
        yield from faults_of_addresses(target)
        return
    if not secret and not (stored and stored.secret):
        yield "secret", SECRETS[Kind(target.kind)]
    elif not secret and stored and is_elsewhere(stored, target):
        yield "secret", "Enter the secret again: it would go to another address."
    try:
        if target.address or target.kind == Kind.WEBHOOK:
            checked(target.address)
    except AddressRefused as error:
        yield "address", str(error)
    yield from faults_of_secret(Kind(target.kind), secret)


SECRETS = {
    Kind.WEBHOOK: "Give the secret with which the receiver checks signatures.",
    Kind.SLACK: "Give the URL of the incoming webhook.",
    Kind.PAGERDUTY: "Give the integration key of the service (Events API v2).",
}


def is_elsewhere(stored: AlertTarget, target: AlertTarget) -> bool:
    """Whether the stored secret would be used for another service or address than the
    one that it was given for."""
    moved = stored.address != target.address and target.kind == Kind.PAGERDUTY
    return moved or stored.kind != target.kind


def faults_of_addresses(target: AlertTarget) -> Iterator[Fault]:
    found = addresses(target)
    if not found:
        yield "address", "Give one or more mail addresses, separated by commas."
    for one in found:
        try:
            validate_email(one)
        except ValidationError:
            yield "address", f"{one} is no mail address."


def faults_of_secret(kind: Kind, secret: str) -> Iterator[Fault]:
    try:
        if secret and kind == Kind.WEBHOOK:
            key_of(secret)
        if secret and kind == Kind.SLACK:
            checked(secret)
    except (ValueError, AddressRefused) as error:
        yield "secret", str(error)
    if (
        secret
        and kind == Kind.PAGERDUTY
        and not (secret.isascii() and secret.isalnum())
    ):
        yield "secret", "An integration key has letters and digits only."


def target_named(name: str) -> AlertTarget:
    found = AlertTarget.objects.filter(name=name).first()
    if found is None:
        raise NoSuchAlert("alert target", name)
    return found


def check(one: AlertRule | AlertTarget) -> None:
    """Check the fields by themselves, and the constraints."""
    try:
        one.full_clean()
    except ValidationError as error:
        require((name, why[0]) for name, why in error.message_dict.items())


def require(faults: Iterable[Fault]) -> None:
    for field, why in faults:
        raise InvalidAlert(field, f"{field}: {why}" if field != "__all__" else why)
