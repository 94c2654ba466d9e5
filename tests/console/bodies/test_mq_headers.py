"""What IBM MQ's programs put before a body, as the page of a message shows it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from broker.errors.mq_codes import Report
from broker.formats.mq.describing import LONGEST
from broker.models import Message
from broker.queueing.put import put
from console.bodies import viewers
from tests.console.conftest import SignIn
from tests.console.letters import attempt
from tests.console.messages.test_messages import EVIL, page, words
from tests.console.poison import make_payments, poison, remove, rfh2, usr
from tests.make import make_queue

pytestmark = pytest.mark.django_db

TITLE = "IBM MQ headers"


def section(html: str) -> str:
    """The markup of the section that shows them."""
    found = re.search(
        r'<section class="card" aria-labelledby="mq">.*?</section>', html, re.S
    )
    assert found
    return found[0]


def test_a_message_without_them_says_nothing_of_them(sign_in: SignIn) -> None:
    make_queue()
    message_id = put("orders", b"{}").message_id

    assert TITLE not in page(sign_in("operator"), message_id)


@pytest.mark.spec("MD-1", "UNIFY-6")
def test_descriptor_and_folders_are_decoded(sign_in: SignIn) -> None:
    make_payments()
    sent = rfh2(usr(colour="red"))
    sent["descriptor"] |= {"report": int(Report.DISCARD_MSG), "put_appl_type": 28}
    message_id = put("payments", b"text", priority=7, **sent).message_id

    said = words(page(sign_in("operator"), message_id))

    assert "MQMD, MQRFH2" in said
    assert "Priority 7" in said
    assert "Report 134217728 DISCARD_MSG" in said
    assert "PutApplType 28 JAVA" in said
    assert "Format MQHRF2" in said
    assert "CodedCharSetId 1208 UTF_8" in said
    assert "usr.colour red" in said


@pytest.mark.spec("MD-4", "UNIFY-5")
def test_on_the_dead_letter_queue_the_header_says_why_by_name(sign_in: SignIn) -> None:
    make_payments("")
    poison()
    remove("")
    moved = Message.objects.latest("pk")

    said = words(page(sign_in("operator"), moved.pk))

    assert "MQMD, MQDLH" in said
    assert "Reason 2362 BACKOUT_THRESHOLD_REACHED" in said
    assert "DestQName payments" in said
    assert "DestQMgrName BACKOUT" in said


def test_a_malformed_header_is_shown_with_its_place_and_its_bytes(
    sign_in: SignIn,
) -> None:
    make_payments()
    sent = rfh2(usr(colour="red"))
    sent["headers"] = sent["headers"].replace(b"</usr>", b"</usx>")
    message_id = put("payments", b"body is still here", **sent).message_id

    html = page(sign_in("operator"), message_id)

    said = words(html)
    assert re.search(r"The MQRFH2 cannot be read at byte \d+: mismatched tag", said)
    assert "What cannot be read, from byte 0 on" in said
    assert "00000000 | 52 46 48 20" in section(html)
    assert "RFH " in section(html)
    assert "body is still here" in said


@pytest.mark.parametrize(
    "raw",
    [b"", b"RFH ", b"\0" * 36, bytes(range(256)) * 4, b"RFH \0\0\0\2" + b"\xff" * 90],
)
def test_no_bytes_break_the_page(sign_in: SignIn, raw: bytes) -> None:
    make_payments()
    for name in ("MQHRF2", "MQDEAD", "MQCICS", "MQSTR"):
        descriptor = {"format": name}
        put("payments", b"x", descriptor=descriptor, headers=raw)
    client = sign_in("operator")

    for message_id in Message.objects.values_list("pk", flat=True):
        assert TITLE in page(client, message_id)


def test_a_header_of_another_product_is_shown_as_bytes(sign_in: SignIn) -> None:
    make_payments()
    descriptor = {"format": "MQCICS"}
    fields: dict[str, Any] = {"descriptor": descriptor, "headers": b"CIH \0\0\0\2"}
    message_id = put("payments", b"", **fields).message_id

    said = words(page(sign_in("operator"), message_id))

    assert "MQCICS is not decoded here." in said
    assert "43 49 48 20 00 00 00 02" in said


def test_nothing_in_a_header_becomes_part_of_the_page(sign_in: SignIn) -> None:
    make_payments()
    sent = rfh2(usr(evil=EVIL, long="x" * 10 * LONGEST))
    sent["descriptor"] |= {
        "appl_identity_data": "<script>\u202e",
        "user_identifier": "<b>",
    }
    message_id = put("payments", b"", **sent).message_id

    html = page(sign_in("operator"), message_id)

    assert "<script>alert" not in html
    assert "<script>" not in section(html)
    assert "<b>" not in section(html)
    assert "\u202e" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in section(html)
    assert len(section(html)) < 50_000


def test_malformed_bytes_are_hostile_too(sign_in: SignIn) -> None:
    make_payments()
    fields: dict[str, Any] = {
        "descriptor": {"format": "MQHRF2"},
        "headers": EVIL.encode(),
    }
    message_id = put("payments", b"", **fields).message_id

    html = section(page(sign_in("operator"), message_id))

    assert "<script>" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html


def test_headers_too_long_to_decode_can_still_be_had(sign_in: SignIn) -> None:
    make_payments()
    fields: dict[str, Any] = {
        "descriptor": {"format": "MQHRF2"},
        "headers": b"x" * (viewers.LAID_OUT + 1),
    }
    message_id = put("payments", b"", **fields).message_id

    said = words(page(sign_in("operator"), message_id))

    assert "They are too long to be decoded here." in said
    assert "Download headers and body" in said


def test_who_may_browse_can_have_the_bytes(sign_in: SignIn) -> None:
    make_payments()
    sent = rfh2(usr(colour="red"))
    message_id = put("payments", b"\0body", **sent).message_id
    url = reverse("console:data", args=[message_id])
    client = sign_in("operator")

    answer = client.get(url)

    assert url in page(client, message_id)
    assert answer.content == sent["headers"] + b"\0body"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in answer["Cache-Control"]


def test_who_may_not_browse_sees_the_descriptor_and_no_more(sign_in: SignIn) -> None:
    make_payments()
    message_id = put("payments", b"", **rfh2(usr(pin="4711"))).message_id
    client = sign_in("viewer")

    html = page(client, message_id)

    assert "Format MQHRF2" in words(html)
    assert "4711" not in section(html)
    assert "Users with the role operator may read the fields of its headers." in words(
        html
    )
    assert client.get(reverse("console:data", args=[message_id])).status_code == 403


def test_the_backout_count_is_that_of_the_entry(sign_in: SignIn) -> None:
    make_payments()
    message_id = put("payments", b"", **rfh2()).message_id
    attempt("no", queue="payments")

    assert "BackoutCount 1" in words(page(sign_in("operator"), message_id))


def test_a_code_without_a_name_is_its_number(sign_in: SignIn) -> None:
    make_payments("")
    poison()
    remove("")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE broker_dead_letter SET reason = 4711")

    assert "(4711)" in words(page(sign_in("operator"), Message.objects.latest("pk").pk))
