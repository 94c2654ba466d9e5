"""Makes bridges, their links in any state, and what these could not carry."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from broker.bridges.providers.registry import HERE
from broker.bridges.resubmit import origin_of
from broker.formats.error_fingerprint import fingerprint
from broker.models import (
    Branch,
    Bridge,
    BridgeDestination,
    BridgeProcess,
    ConnectionFactory,
    DeadLetter,
    Link,
    LinkState,
    LinkStatus,
    Queue,
)
from broker.models.bridge_names import BUILT_IN_QUEUE, LINK_PROPERTY
from broker.queueing.put import put
from console.messages.properties import PREFIX
from tests.make import make_queue

URLS = {
    "amqp": "amqp://mq-east.example:5672",
    "backout": "https://backout.example/",
    "kombu": "redis://cache.example:6379/0",
    "rabbitmq": "amqp://rabbit.example:5672/shop",
    "stomp": "stomp://mq-east.example:61613",
}
TABLE = DeadLetter._meta.db_table


def make_link(
    name: str = "out",
    *,
    bridge: str = "shop",
    source: str = "orders",
    target: str = "orders.copy",
    source_at: str = HERE,
    target_at: str = "stomp",
    **fields: Any,
) -> Link:
    """A link with all that it refers to; what is there of that serves."""
    of, _ = Bridge.objects.get_or_create(name=bridge)

    def factory(provider: str) -> ConnectionFactory:
        found, _ = ConnectionFactory.objects.get_or_create(
            bridge=of,
            name="here" if provider == HERE else f"{provider}-east",
            defaults={"provider": provider, "url": URLS.get(provider, "")},
        )
        return found

    def destination(at: str) -> BridgeDestination:
        found, _ = BridgeDestination.objects.get_or_create(
            bridge=of, ref_name=at[:100], defaults={"name": at}
        )
        return found

    return Link.objects.create(
        bridge=of,
        name=name,
        source_factory=factory(source_at),
        source=destination(source),
        target_factory=factory(target_at),
        target=destination(target) if target else None,
        **fields,
    )


def stand(link: Link, state: str, **fields: Any) -> LinkStatus:
    """Let a link be in a state, as its runner would have written it."""
    at = fields.pop("at", timezone.now())
    given = {"state": state, "changed_at": at, "wanted": wanted_of(state)} | fields
    status, _ = LinkStatus.objects.update_or_create(link=link, defaults=given)
    return status


def wanted_of(state: str) -> str:
    still = {LinkState.UNINITIALIZED: "", LinkState.STARTING: LinkState.STARTED}
    return str(still.get(LinkState(state), state))


def fail(link: Link, error: str, **fields: Any) -> LinkStatus:
    """Let a link have stopped by itself."""
    at = fields.get("at", timezone.now())
    wrong = {"error": error, "error_at": at, "failures": 1, "wanted": LinkState.STARTED}
    return stand(link, LinkState.STOPPED, **wrong | fields)


def beat(owner_id: int = 1) -> None:
    """A process that runs links says that it lives."""
    BridgeProcess.objects.update_or_create(
        owner_id=owner_id, defaults={"heartbeat_at": timezone.now()}
    )


def make_branch(link: Link, xid: str = "bk:7:1", **fields: Any) -> Branch:
    given = {"kind": Branch.Kind.DECIDED, "messages": 3, "began_at": timezone.now()}
    return Branch.objects.create(xid=xid, link=link, **given | fields)


def make_dead_queue() -> Queue:
    found = Queue.objects.filter(name=BUILT_IN_QUEUE).first()
    return found or make_queue(BUILT_IN_QUEUE)


def die_of_link(
    link: Link,
    exception: str = "ValueError: row 7 is bad",
    *,
    reason: str = "SEND_FAILURE",
    now: datetime | None = None,
    **fields: Any,
) -> int:
    """A message that a link could not carry, on the dead message queue; its number."""
    queue = make_dead_queue()
    properties = fields.pop("properties", {}) | told_by(link, reason, exception)
    body = fields.pop("body", b'{"order": 17}')
    fields = {"content_type": "application/json"} | fields
    message_id = put(BUILT_IN_QUEUE, body, properties=properties, **fields).message_id
    assert message_id is not None
    error = f"{reason}: {exception}"
    group = fingerprint(error)
    given: dict[str, Any] = {
        "message_id": message_id,
        "queue_id": queue.pk,
        "cause": DeadLetter.Cause.LINK,
        "error": error[:1000],
        "fingerprint": group.key,
        "pattern": group.pattern,
        "origin_address": "",
        "origin_queue": origin_of(link),
        "origin_id": message_id,
        "backout_count": 0,
        "resubmit_count": 0,
        "died_at": now or timezone.now(),
    }
    columns, values = ", ".join(given), ", ".join(["%s"] * len(given))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {TABLE} ({columns}) VALUES ({values})", [*given.values()]
        )
    return message_id


def told_by(link: Link, reason: str, exception: str) -> dict[str, Any]:
    """What a dead message says of itself, as Open MQ has it."""
    target = link.target or link.source
    said = {
        "SOURCE_MESSAGEID": "ID:mq-east-41-1746-1:1:1:1:7",
        "SOURCE_TIMESTAMP": 1_773_489_600_000,
        "SOURCE_CORRELATIONID": "order-17",
        "SOURCE_DESTINATION": f"{link.source.kind}:{link.source.name}",
        "SOURCE_PROVIDER": link.source_factory.name,
        "TARGET_DESTINATION": f"{target.kind}:{target.name}",
        "TARGET_CURRENT_DESTINATION": f"{target.kind}:{target.name}",
        "TARGET_PROVIDER": link.target_factory.name,
        "DMQ_REASON": reason,
        "DMQ_EXCEPTION": exception,
        "DMQ_TIMESTAMP": 1_773_489_660_000,
        "DMQ_BODY_TRUNCATED": False,
    }
    named = {f"{PREFIX}{name}": value for name, value in said.items()}
    return named | {LINK_PROPERTY: str(link)}
