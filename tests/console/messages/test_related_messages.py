"""The page of a message leads to those that belong to it; REST has the same."""

from __future__ import annotations

import re

from django.test import Client

from broker.models import Queue
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.make import make_queue, make_user


def part_of(client: Client, message_id: int) -> str:
    """The part of the page, without its marks."""
    html = client.get(f"/messages/{message_id}/").content.decode()
    found = re.search(r'aria-labelledby="related">(.*?)</section>', html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", found[1]).split()) if found else ""


def test_the_page_of_a_message_leads_to_its_request_and_answers(
    sign_in: SignIn, orders: Queue
) -> None:
    make_queue("answers")
    request = put("orders", message_id="ID:1", subject="ask").message_id
    answer = put("answers", correlation_id="ID:1", subject="<b>42").message_id
    client = sign_in("viewer")

    asked, answered = part_of(client, request), part_of(client, answer)

    assert f"Message {answer} answers this one: &lt;b&gt;42 to answers" in asked
    assert f"Message {request} is the request that this one answers: ask" in answered
    assert "Find all with this correlation id" in answered
    html = client.get(f"/messages/{answer}/").content.decode()
    assert f'<li><a href="/messages/{request}/">' in html
    assert part_of(client, put("orders").message_id) == ""


def test_related_messages_on_hidden_queues_are_counted(
    client: Client, orders: Queue
) -> None:
    make_queue("secret")
    request = put("orders", message_id="ID:1").message_id
    hidden = put("secret", correlation_id="ID:1", subject="gold").message_id
    vera = make_user("vera", permissions=("broker.view_queue",), pattern="orders")
    client.force_login(vera)

    html = part_of(client, request)
    found = client.get(f"/api/v1/messages/{request}/related")

    assert html == "Related messages 1 more is on queues that you may not see."
    assert found.json() == {"message_id": request, "related": [], "hidden": 1}
    assert client.get(f"/api/v1/messages/{hidden}/related").status_code == 404
