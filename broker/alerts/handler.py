"""The handler of notifications; each dispatcher runs it.

It runs under a lease: the message is accepted after the other side took it. A process
that dies in between has sent it, and it is sent again, with the same key
(``webhook-id``, ``Message-ID``, ``dedup_key``): at least once. What is not taken is
redelivered with growing delays, and becomes a dead letter in the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker.alerts import channels
from broker.alerts.names import QUEUE
from broker.alerts.owed import News
from broker.client.dispatch.handlers import consumes
from broker.errors.alerts import AddressRefused, NotDelivered
from broker.errors.units_of_work import Reject
from broker.models import Alert, AlertEvent, AlertTarget
from broker.monitoring.numbers import public_number
from broker.queueing.get import Delivery
from broker.sql import database_now
from broker.transactions.scope import UnitOfWork

GONE = "The target {} was removed or disabled after this was put."


@consumes(QUEUE, join=False)
def deliver(delivery: Delivery, work: UnitOfWork) -> None:
    """Send one notification."""
    said = json.loads(delivery.body)
    target = AlertTarget.objects.filter(pk=said["target"]["id"], enabled=True).first()
    if target is None:
        raise Reject(GONE.format(said["target"]["name"]))
    if is_out_of_date(said):
        note(said, AlertEvent.Kind.DELIVERED, f"{target}: not sent, as it is over")
        return
    number = public_number(delivery.message_id)
    try:
        answer = channels.send(target, said, f"backout-{number}")
    except (NotDelivered, AddressRefused, ValueError) as error:
        failed(target, said, delivery, str(error))
        if isinstance(error, NotDelivered) and not error.permanent:
            raise
        raise Reject(str(error)) from None
    now = database_now()
    AlertTarget.objects.filter(pk=target.pk).update(
        told_at=now, error="", error_at=None
    )
    note(said, AlertEvent.Kind.DELIVERED, f"{target}: {answer}")


def is_out_of_date(said: Mapping[str, Any]) -> bool:
    """Whether a notification says that alerts fire, but all of them are resolved: a
    late trigger after its resolution would open an incident that nobody closes."""
    if said["type"] != f"alert.{News.FIRING}":
        return False
    ids = [one["id"] for one in said["alerts"]]
    standing = Alert.objects.filter(pk__in=ids, state__in=Alert.STANDING)
    return not standing.exists()


def failed(
    target: AlertTarget, said: Mapping[str, Any], delivery: Delivery, why: str
) -> None:
    """Note a failure at the target and, the first time, in the stories of the alerts;
    the message's own story has each attempt."""
    rows = AlertTarget.objects.filter(pk=target.pk)
    rows.update(error=why, error_at=database_now())
    if not delivery.backout_count:
        words = f"{target}: {why} Message {delivery.message_id} has each attempt."
        note(said, AlertEvent.Kind.FAILED, words)


def note(said: Mapping[str, Any], kind: AlertEvent.Kind, detail: str) -> None:
    now = database_now()
    ids = [one["id"] for one in said["alerts"]]
    AlertEvent.objects.bulk_create(
        AlertEvent(alert_id=pk, at=now, kind=kind, detail=detail)
        for pk in Alert.objects.filter(pk__in=ids).values_list("pk", flat=True)
    )
