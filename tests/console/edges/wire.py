"""Clients as a listener writes them down, and credentials; and pages that show them."""

from __future__ import annotations

import html
import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.models import ClientConnection, ClientEndpoint, Credential, Owner, Queue
from broker.security import credentials
from tests.make import NOON, make_user

LISTENER = 4711
LIST = "/connections/"
REASON = {"reason": "it hangs"}  # why it is closed


def make_listener(owner_id: int = LISTENER) -> Owner:
    return Owner.objects.create(
        id=owner_id, kind="listener", host="gate", pid=77, started_at=NOON
    )


def make_client(container_id: str = "shop-7", **fields: Any) -> ClientConnection:
    defaults: dict[str, Any] = {
        "owner_id": LISTENER,
        "mechanism": "SCRAM-SHA-256",
        "host": "10.0.0.7:50123",
        "is_encrypted": True,
        "product": "QpidJMS 2.6.0",
    }
    return ClientConnection.objects.create(
        container_id=container_id, **defaults | fields
    )


def make_endpoint(
    connection: ClientConnection, node: str = "orders", **fields: Any
) -> ClientEndpoint:
    """One that gets, if its node is a queue; else one that puts."""
    queue = Queue.objects.filter(name=node).first()
    defaults: dict[str, Any] = {
        "session": 1,
        "name": f"to {node}",
        "kind": ClientEndpoint.Kind.PUTS if queue is None else ClientEndpoint.Kind.GETS,
        "queue": queue,
    }
    return ClientEndpoint.objects.create(
        connection=connection, node=node, **defaults | fields
    )


def make_credential(
    name: str = "shop", user: User | None = None, **fields: Any
) -> Credential:
    made, _ = credentials.create(name, user or make_user(f"{name}-user"), **fields)
    return made


def page(client: Client, url: str = LIST) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def text(markup: str) -> str:
    plain = re.sub(r"<[^>]*>", " ", re.sub(r"</?(bdi|mark)>", "", markup))
    return " ".join(html.unescape(plain).split())


def close_url(one: ClientConnection | ClientEndpoint) -> str:
    if isinstance(one, ClientConnection):
        return reverse("console:close_connection", args=[one.pk])
    return reverse("console:close_endpoint", args=[one.connection_id, one.pk])


def narrowed(client: Client, pattern: str = "orders", **kwargs: Any) -> Client:
    """Signs in somebody who operates some queues only."""
    permissions = ("broker.view_queue", "broker.close_clientconnection")
    client.force_login(make_user(permissions=permissions, pattern=pattern, **kwargs))
    return client
