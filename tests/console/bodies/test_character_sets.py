"""A body of a mainframe is text at every door, and stays as it is encoded."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from broker.amqp.messages import to_send
from broker.amqp.protocol.sections import body_of, split
from broker.bridges.messages import in_unicode, message_of
from broker.bridges.providers.rabbitmq_messages import properties_of
from broker.client.jms.messages import Message as Received
from broker.formats.mq.rfh2 import Rfh2
from broker.models import Message, Operation, Queue, Ready, RedactionRule
from broker.queueing import message_files
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import page, words
from tests.make import NOON, make_queue, make_redaction

pytestmark = pytest.mark.django_db

TEXT = "Größe 17 [§] der Kiste"
JSON_TEXT = '{"size": "Größe", "card": "4711"}'
STRING = {"format": "MQSTR"}
CCSIDS = [500, 1141, 1200]
CODECS = {943: "cp932", 1200: "utf-16-be"}


def encoded(text: str, ccsid: int) -> bytes:
    return text.encode(CODECS.get(ccsid) or f"cp{ccsid:03}")


def sent_in(ccsid: int, text: str = TEXT, **fields: Any) -> dict[str, Any]:
    """A message with a descriptor that names the character set."""
    return {
        "body": encoded(text, ccsid),
        "content_type": "text/plain",
        "descriptor": {"coded_char_set_id": ccsid} | STRING,
    } | fields


def behind_header(ccsid: int) -> dict[str, Any]:
    """A message whose RFH2, not whose descriptor, names the character set."""
    header = Rfh2(encoding=273, coded_char_set_id=ccsid, format="MQSTR")
    return {
        "body": encoded(TEXT, ccsid),
        "content_type": "text/plain",
        "descriptor": {"format": "MQHRF2"},
        "headers": header.to_bytes(),
    }


KINDS = [sent_in(1047), sent_in(1200), behind_header(1140)]
KINDS += [sent_in(850, content_type="application/octet-stream"), sent_in(943, "日本")]


def text_in(fields: dict[str, Any]) -> str:
    return "日本" if fields["descriptor"].get("coded_char_set_id") == 943 else TEXT


@pytest.fixture
def orders() -> Queue:
    return make_queue()


@pytest.fixture
def omar(sign_in: SignIn) -> Client:
    return sign_in("operator")


@pytest.mark.thorough
@pytest.mark.parametrize("fields", KINDS)
def test_a_text_is_read_at_each_door(
    orders: Queue, omar: Client, fields: dict[str, Any], tmp_path: Path
) -> None:
    text = text_in(fields)
    message_id = put("orders", **fields).message_id

    assert text in words(page(omar, message_id))
    listed = omar.get(reverse("console:queue", args=["orders"]))
    assert text in words(listed.content.decode())
    api = omar.get(f"{ROOT}/messages/{message_id}").json()
    assert (api["body"], api["encoding"]) == (text, "text")
    word = text.split()[0]
    found = omar.get(f"{ROOT}/messages", {"f": f'body:"{word}"'}).json()
    assert [one["message_id"] for one in found["messages"]] == [message_id]
    row = Message.objects.get(pk=message_id)
    line = json.loads(message_files.line(row, {}))
    assert line["seen"]["text"] == text
    assert message_files.read(json.dumps(line), where="").body == fields["body"]
    url = reverse("console:export")
    exported = omar.get(url, {"f": "queue:orders", "bodies": "1"})
    assert json.loads(exported.getvalue())["body"] == text
    (delivery,) = UnitOfWork().get("orders")
    assert_read_by_programs(delivery, text)


def assert_read_by_programs(delivery: Delivery, text: str) -> None:
    assert Received(delivery).text == text
    sections = split(to_send(delivery, now=NOON))
    assert body_of(sections.body).written.endswith(text.encode())
    carried = in_unicode(message_of(delivery))
    assert carried.body == text.encode()
    assert "coded_char_set_id" not in (carried.descriptor or {})
    said = properties_of(carried, message_id="", now=NOON)
    assert said["content_type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("ccsid", CCSIDS)
def test_a_repair_is_written_in_the_same_character_set(
    omar: Client, ccsid: int
) -> None:
    make_places()
    letter = die(**sent_in(ccsid))
    url = f"{ROOT}/messages/{letter.message_id}/edit"

    told = omar.post(url, json.dumps({"body": "Maß"}), content_type="application/json")

    (child,) = Ready.objects.values_list("id", flat=True)
    assert told.json()["message_id"] == child
    assert bytes(Message.objects.get(pk=child).body) == encoded("Maß", ccsid)


def test_a_json_patch_keeps_the_character_set_and_escapes_what_it_lacks(
    omar: Client,
) -> None:
    make_places()
    letter = die(**sent_in(500, JSON_TEXT, content_type="application/json"))
    patch = {"body": {"patch": [{"op": "replace", "path": "/size", "value": "€"}]}}

    omar.post(
        f"{ROOT}/messages/{letter.message_id}/edit",
        json.dumps({"patch": patch}),
        content_type="application/json",
    )

    (child,) = Ready.objects.values_list("id", flat=True)
    after = bytes(Message.objects.get(pk=child).body)
    assert after == encoded('{"size": "\\u20ac", "card": "4711"}', 500)


def test_a_character_that_is_missing_is_refused_with_a_sentence(omar: Client) -> None:
    make_places()
    letter = die(**sent_in(500))
    why = "CCSID 500 has no character '€' (U+20AC)"
    url = f"{ROOT}/messages/{letter.message_id}/edit"

    answer = omar.post(
        url, json.dumps({"body": "5 €"}), content_type="application/json"
    )
    form = reverse("console:edit", args=[letter.message_id])
    typed = {"body": "5 €", "content-type": "text/plain", "properties": "{}"}
    refused = omar.post(form, typed)

    assert answer.status_code == 422
    assert why in json.dumps(answer.json(), ensure_ascii=False)
    assert refused.status_code == 422
    assert why in words(refused.content.decode())
    assert not Operation.objects.exists()


def test_what_rules_mask_is_masked_in_its_character_set(
    orders: Queue, omar: Client
) -> None:
    make_redaction(name="CARD", kind=RedactionRule.Kind.JSON, target="/card")
    fields = sent_in(1047, JSON_TEXT, content_type="application/json")
    message_id = put("orders", **fields).message_id

    said = words(page(omar, message_id))
    api = omar.get(f"{ROOT}/messages/{message_id}").json()

    assert "Größe" in said
    assert "4711" not in said
    assert json.loads(api["body"])["card"] == "*** masked by rule CARD"
    assert not api["is_withheld"]


@pytest.mark.parametrize(
    ("ccsid", "why"), [(1390, "CCSID 1390"), (-1, "named inside it")]
)
def test_an_unknown_character_set_is_a_dump_with_a_sentence(
    orders: Queue, omar: Client, ccsid: int, why: str
) -> None:
    fields = sent_in(500) | {"descriptor": {"coded_char_set_id": ccsid} | STRING}
    message_id = put("orders", **fields).message_id

    said = words(page(omar, message_id))
    api = omar.get(f"{ROOT}/messages/{message_id}").json()
    (delivery,) = UnitOfWork().get("orders")

    assert "00000000 | c7 99" in said
    assert why in said
    assert api["encoding"] == "base64"
    with pytest.raises(ValueError, match=why):
        _ = Received(delivery).text


def test_a_character_set_of_the_type_that_does_not_fit_gives_way(
    orders: Queue, omar: Client
) -> None:
    fields = sent_in(500, content_type="text/plain; charset=utf-8")
    named = {"body": encoded(TEXT, 1047), "content_type": "text/plain; charset=IBM1047"}

    for one in (fields, named):
        message_id = put("orders", **one).message_id
        assert TEXT in words(page(omar, message_id))
        assert omar.get(f"{ROOT}/messages/{message_id}").json()["body"] == TEXT
    for delivery in UnitOfWork().get("orders", 2):
        assert Received(delivery).text == TEXT


def test_hl7_of_a_mainframe_is_in_the_set_of_its_message(
    orders: Queue, omar: Client
) -> None:
    hl7 = f"MSH|^~\\&|A|B|C|D|1||ADT^A01|1|P|2.5||||||8859/1\rPID|1||7||{TEXT}"
    fields = sent_in(1047, hl7, content_type="application/hl7-v2")

    said = words(page(omar, put("orders", **fields).message_id))

    assert "HL7 v2" in said
    assert TEXT in said


def test_xml_and_json_of_a_mainframe_are_laid_out(orders: Queue, omar: Client) -> None:
    xml = '<?xml version="1.0" encoding="IBM-1047"?><a><b>Größe</b></a>'
    kinds = [("application/json", JSON_TEXT), ("text/xml", xml)]

    said = []
    for content_type, text in kinds:
        fields = sent_in(1047, text, content_type=content_type)
        said.append(words(page(omar, put("orders", **fields).message_id)))

    assert "JSON, indented" in said[0]
    assert "XML, indented" in said[1]
    assert "<b>Größe</b>" in said[1]


def test_headers_of_a_mainframe_are_read_in_its_character_set(
    orders: Queue, omar: Client
) -> None:
    header = Rfh2(encoding=273, coded_char_set_id=1208, format="MQSTR")
    message_id = put(
        "orders",
        header.to_bytes(273, 500) + TEXT.encode(),
        content_type="text/plain",
        descriptor={"format": "MQHRF2", "coded_char_set_id": 500},
    ).message_id

    said = words(page(omar, message_id))

    assert "MQMD, MQRFH2" in said
    assert "Format MQSTR" in said
    assert TEXT in said


def test_a_search_in_bodies_tells_character_sets_apart(
    orders: Queue, omar: Client
) -> None:
    latin = "text/plain; charset=iso-8859-1"
    latin_id = put("orders", "é*_%".encode("latin-1"), content_type=latin).message_id
    ibm_id = put("orders", **sent_in(500, "é*_%")).message_id
    put("orders", b"Q\\m\xe9", content_type=latin)  # what the second is as Latin-1

    for text in ("é", "é*_%", "*"):
        found = omar.get(f"{ROOT}/messages", {"f": f'body:"{text}"'}).json()["messages"]
        ids = {one["message_id"] for one in found}
        assert {latin_id, ibm_id} <= ids, text
    exact = omar.get(f"{ROOT}/messages", {"f": 'body:"_%"'}).json()["messages"]
    assert {one["message_id"] for one in exact} == {latin_id, ibm_id}


def test_the_command_line_prints_the_text(orders: Queue) -> None:
    put("orders", **sent_in(500))
    out = io.StringIO()

    call_command("backout", "browse", "orders", "--whole", "--json", stdout=out)

    assert TEXT in str(json.loads(out.getvalue()))
