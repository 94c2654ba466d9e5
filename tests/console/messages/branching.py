"""Branches, as machines ask for them over the API."""

from __future__ import annotations

from typing import Any

from django.test import Client

from broker.amqp.messages import batches
from broker.queueing.put import NewMessage
from broker.security import credentials
from tests.console.edges.test_api import ROOT
from tests.make import make_user


def machine(name: str, **rights: Any) -> Client:
    user = make_user(name, granted=("inquire", "browse", "get", "put"))
    _, secret = credentials.create(name, user, patterns="orders\nbooked", **rights)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def post(client: Client, where: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(
        f"{ROOT}/{where}", body, content_type="application/json", headers=headers
    )


def send(client: Client, where: str, body: bytes = b"") -> Any:
    return client.post(f"{ROOT}/{where}", body, content_type=batches.CONTENT_TYPE)


def get(client: Client, **wanted: Any) -> tuple[str, list[int]]:
    """A branch, and the ids of what was got in it."""
    answer = post(client, "queues/orders/branch", wanted)
    assert answer.status_code == 200, answer.content
    batch = batches.opened(answer.content)
    return batch.head["branch"], [one.fields["more"]["id"] for one in batch.parts]


def of(*bodies: bytes, to: str = "booked", **head: Any) -> bytes:
    return batches.sealed([NewMessage(to, body) for body in bodies], head)
