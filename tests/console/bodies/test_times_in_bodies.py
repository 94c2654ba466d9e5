"""Times without a zone in a body are shown as they stand there: who sent them knows
what they mean (docs/times.md)."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.test import override_settings
from django.urls import reverse

from broker.models import Queue
from broker.queueing.put import put
from console.accounts.time_zones import COOKIE
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import body_of, page
from tests.make import make_queue

PAGE = "Asia/Kolkata"  # the zone that the person has chosen
DTM, DATE_ONLY, WITH_OFFSET = "20260514020000", "20260514", "20260514020000-0500"
ISO, ISO_WITH_OFFSET = "2026-05-14T02:00:00", "2026-05-14T02:00:00-05:00"
HL7 = (
    f"MSH|^~\\&|LAB|A|EHR|B|{DTM}||ORU^R01|7|P|2.5\r"
    f"PID|1||77||DOE^JANE||{DATE_ONLY}\r"
    f"OBR|1|||GLU|||{WITH_OFFSET}\r"
).encode()
XML = f'<order at="{ISO}"><due>{ISO}</due><put>{ISO_WITH_OFFSET}</put></order>'.encode()
JSON = json.dumps({"at": ISO, "put": ISO_WITH_OFFSET}).encode()


@pytest.fixture
def orders(db: None) -> Queue:
    return make_queue("orders")


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", PAGE])
@pytest.mark.parametrize(
    ("content_type", "body", "times"),
    [
        ("application/hl7-v2", HL7, (DTM, f"|{DATE_ONLY}", WITH_OFFSET)),
        ("application/xml", XML, (f'at="{ISO}"', f">{ISO}<", ISO_WITH_OFFSET)),
        ("application/json", JSON, (f'"{ISO}"', f'"{ISO_WITH_OFFSET}"')),
    ],
    ids=["HL7", "XML", "JSON"],
)
def test_a_time_without_a_zone_is_shown_as_it_stands(
    zone: str,
    content_type: str,
    body: bytes,
    times: tuple[str, ...],
    sign_in: SignIn,
    orders: Queue,
) -> None:
    message_id = put("orders", body, content_type=content_type).message_id
    client = sign_in("operator")
    client.cookies[COOKIE] = PAGE
    with override_settings(TIME_ZONE=zone):
        html = body_of(page(client, message_id))
        whole = client.get(reverse("console:body", args=[message_id]))

    shown = unescape(re.sub("<[^>]*>", "", html))
    for time in times:
        assert time in shown
    assert "<time" not in html  # scripts write such times in the zone of the page
    assert whole.content == body
