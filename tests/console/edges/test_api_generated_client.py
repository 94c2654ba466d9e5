"""A client that a generator makes of the API's description, and types."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.test import Client

from broker.security import credentials
from console import api
from tests.make import make_queue, make_user

pytestmark = pytest.mark.thorough

CONFIG = settings.BASE_DIR / "docs" / "openapi-client.yaml"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the generated package; it has all operations, and types for each."""
    where = tmp_path_factory.mktemp("generated")
    (where / "openapi.json").write_text(
        json.dumps(api.document(), cls=DjangoJSONEncoder)
    )
    command = [sys.executable, "-m", "openapi_python_client", "generate"]
    done = subprocess.run(
        [*command, "--path=openapi.json", f"--config={CONFIG}", "--output-path=out"],
        cwd=where,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "WARNING" not in done.stdout
    sys.path.insert(0, str(where / "out"))
    return "backout_client"


def answer(asked: httpx.Request) -> httpx.Response:
    """The answer of Django's test client, which keeps the connection of the test."""
    given = Client().generic(
        asked.method,
        asked.url.raw_path.decode(),
        asked.content,
        asked.headers.get("Content-Type", ""),
        headers={"Authorization": asked.headers["Authorization"]},
    )
    return httpx.Response(given.status_code, content=given.content)


@pytest.mark.django_db
def test_it_puts_gets_and_settles_a_message(package: str) -> None:
    make_queue("orders")
    _, secret = credentials.create("shop", make_user())
    client = import_module(package).AuthenticatedClient(
        "http://testserver",
        secret,
        httpx_args={"transport": httpx.MockTransport(answer)},
    )
    models = import_module(f"{package}.models")

    def call(operation: str, *named: str, **asked: Any) -> Any:
        module = import_module(f"{package}.api.messages.{operation}")
        return module.sync(*named, client=client, **asked)

    sent = models.MessageToPut(body="7")
    receipt = call("put_message", "orders", body=sent)
    got = call("get_messages", "orders", body=models.Get(limit=10))
    accept = models.Settling(models.SettlingOutcome.ACCEPT)
    settled = call("settle_messages", got.settlement, body=accept)

    assert [one.message_id for one in got.messages] == [receipt.message_id]
    assert settled.held == []
