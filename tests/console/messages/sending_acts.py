"""What pages put: a message, and the messages of a file; as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from broker.models import Act
from tests.console.own_acts import Case, at
from tests.make import make_queue


def send(_: Client) -> Case:
    make_queue()
    return at("console:send", "orders"), {"body": "hello", "priority": 4}, Act.SEND


def import_messages(_: Client) -> Case:
    make_queue()
    line = b'{"format": "backout-message/1", "address": "orders", "text": "hello"}'
    file = SimpleUploadedFile("messages.jsonl", line)
    return at("console:import_messages", "orders"), {"file": file, "does": 1}, Act.SEND


SENDING: dict[str, Callable[[Client], Case]] = {
    "console:send": send,
    "console:import_messages": import_messages,
}
