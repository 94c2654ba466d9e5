"""The page that imports messages: a file is checked, then put whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from broker.models import Act, AuditRecord, Authority, Message, Queue
from console.runtime.request_size import most
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(sign_in: SignIn) -> Client:
    make_queue()
    make_queue("bills")
    return sign_in("operator")


def line(text: str, **more: Any) -> str:
    told = {"format": "backout-message/1", "address": "elsewhere", "text": text}
    return json.dumps(told | more)


def post(client: Client, *lines: str, **fields: Any) -> Any:
    file = SimpleUploadedFile("messages.jsonl", "\n".join(lines).encode())
    address = reverse("console:import_messages", args=["orders"])
    return client.post(address, {"file": file, **fields})


def test_a_check_counts_and_changes_nothing(client: Client) -> None:
    answer = post(client, line("a"), "", line("b"))

    said = words(answer.content.decode())
    assert answer.status_code == 200
    assert "2 good lines, 0 bad. Nothing was imported." in said
    assert "They go to orders." in said
    assert not Message.objects.exists()


def test_bad_lines_are_named_and_nothing_of_the_file_is_put(client: Client) -> None:
    bad = [line("x", priority=10), f"{{{EVIL}", *["[]"] * 30]
    for does in ({}, {"does": 1}):
        answer = post(client, line("a"), *bad, **does)

        html = answer.content.decode()
        said = words(html)
        assert "1 good line, 32 bad. Nothing was imported." in said
        assert "line 2: priority is from 0 to 9." in said
        assert "line 3: This is no JSON." in said
        assert "line 21:" in said
        assert "line 22:" not in said
        assert EVIL not in html
    assert not Message.objects.exists()


def test_a_good_file_is_put_in_its_order_with_its_record(client: Client) -> None:
    Authority.objects.update(may_pass_all=False)
    lines = [line(str(one), priority=one % 9, producer="ada") for one in range(250)]

    answer = post(client, *lines, does=1)

    assert answer.headers["Location"] == reverse("console:queue", args=["orders"])
    rows = Message.objects.order_by("pk")
    assert [bytes(row.body) for row in rows] == [b"%d" % one for one in range(250)]
    assert {row.address for row in rows} == {"orders"}
    assert {row.producer for row in rows} == {"operator"}, "not ada"
    record = AuditRecord.objects.get(act=Act.SEND)
    assert (record.actor, record.object_name) == ("operator", "orders")
    assert record.details == {"messages": 250, "addresses": ["orders"]}


def test_each_message_goes_where_it_names_if_so_asked(client: Client) -> None:
    lines = [line("a", address="orders"), line("b", address="bills")]
    assert post(client, *lines, does=1, as_addressed=1).status_code == 302
    assert set(Message.objects.values_list("address", flat=True)) == {"orders", "bills"}

    Authority.objects.update(pattern="orders")
    refused = post(client, *lines, does=1, as_addressed=1)
    assert refused.status_code == 422
    assert "bills" in words(refused.content.decode())
    assert Message.objects.count() == 2


def test_what_the_queue_refuses_is_said_and_nothing_is_put(client: Client) -> None:
    Queue.objects.filter(name="orders").update(put_inhibited=True, guarded=True)

    answer = post(client, line("a"), does=1)

    assert answer.status_code == 422
    assert not Message.objects.exists()
    assert not AuditRecord.objects.filter(act=Act.SEND).exists()


def test_only_who_may_put_is_led_here_and_reads_the_limit(
    client: Client, sign_in: SignIn
) -> None:
    address = reverse("console:import_messages", args=["orders"])
    queue = reverse("console:queue", args=["orders"])
    assert address in client.get(queue).content.decode()
    assert f"{most() // 2**20} MiB" in words(client.get(address).content.decode())
    assert client.post(address, {}).status_code == 422

    viewer = sign_in("viewer")
    Authority.objects.update(may_put=False)
    assert viewer.get(address).status_code == 403
    assert address not in viewer.get(queue).content.decode()
