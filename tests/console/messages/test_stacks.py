"""The stack trace of a failed attempt: on the page of the message, and in the API."""

from __future__ import annotations

import pytest
from django.urls import reverse

from broker.models import Queue
from broker.queueing.get import Delivery
from broker.queueing.put import put
from tests.broker.handling import Seen, handle_next, handler
from tests.console.conftest import SignIn
from tests.make import make_redaction


def fail(_: Delivery) -> None:
    raise ValueError("<script>alert(1)</script> of Doe-7731")


@pytest.fixture
def failed(orders: Queue) -> int:
    message_id = put("orders").message_id
    handle_next(handler(Seen(fail), join=False))
    return message_id


def test_it_is_folded_below_its_attempt_and_escaped(
    sign_in: SignIn, failed: int
) -> None:
    url = reverse("console:message", args=[failed])

    html = sign_in("operator").get(url).content.decode()

    assert "<summary>Stack trace of attempt 1</summary>" in html
    assert "in fail" in html
    assert "<script>alert" not in html


def test_who_may_not_browse_does_not_see_it(sign_in: SignIn, failed: int) -> None:
    url = reverse("console:message", args=[failed])

    assert "Stack trace" not in sign_in("viewer").get(url).content.decode()


def test_rules_with_a_pattern_mask_it(sign_in: SignIn, failed: int) -> None:
    make_redaction("names", "pattern", r"Doe-\d+", "orders")
    client = sign_in("operator")
    html = client.get(reverse("console:message", args=[failed])).content.decode()

    (attempt,) = client.get(f"/api/v1/messages/{failed}").json()["failures"]

    trace = html.partition("Stack trace of attempt")[2].partition("</pre>")[0]
    assert "masked by rule names" in trace
    assert "Doe-7731" not in trace
    assert "Doe-7731" not in attempt["stack"]
    assert "in fail" in attempt["stack"]
    assert (attempt["queue"], attempt["attempt"]) == ("orders", 1)
