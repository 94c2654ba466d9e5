"""The trace of a message: on its page, and from the header of a put."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.models import Message, Queue
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.make import make_redaction

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


def page(client: Client, parent: str) -> str:
    message_id = put("orders", properties={"traceparent": parent}).message_id
    return client.get(reverse("console:message", args=[message_id])).content.decode()


def test_the_page_of_a_message_links_to_its_trace(
    sign_in: SignIn, orders: Queue, settings: Settings
) -> None:
    client = sign_in("operator")
    plain = page(client, PARENT)
    settings.BACKOUT_TRACE_URL = "https://traces/?a=1&b={trace_id}"

    html = page(client, PARENT)

    assert "Open the trace" not in plain
    assert f'<dd class="mono">{TRACE}</dd>' in plain
    assert f'href="https://traces/?a=1&amp;b={TRACE}"' in html
    assert "Trace id" not in page(client, "00-<script>")


def test_a_masked_trace_is_not_shown(sign_in: SignIn, orders: Queue) -> None:
    make_redaction("traces", "property", "traceparent", "orders")

    assert "Trace id" not in page(sign_in("operator"), PARENT)


@pytest.mark.parametrize(
    ("header", "own", "kept"),
    [
        (PARENT, {}, {"traceparent": PARENT, "tracestate": "rojo=1"}),
        (PARENT, {"traceparent": OTHER}, {"traceparent": OTHER}),
        ("no context", {}, {}),
    ],
)
def test_a_put_over_http_takes_the_header(
    sign_in: SignIn,
    orders: Queue,
    header: str,
    own: dict[str, str],
    kept: dict[str, str],
) -> None:
    answer = sign_in("administrator").post(
        "/api/v1/addresses/orders/messages",
        {"body": "x", "properties": own},
        content_type="application/json",
        headers={"traceparent": header, "tracestate": "rojo=1"},
    )

    stored = Message.objects.get(pk=answer.json()["message_id"])
    assert stored.properties == kept
